package tail

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/line/ul"
)

// PromQL's increase() does not see the first step of a series that appears with that step. If the
// series did not exist before, the first burst of drops would not be visible.
func TestSeriesOfAStreamAppearWithIt(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "[1.000s][info][gc] one\n")
	r.read()
	m := &r.src.env.metrics
	for name, c := range map[string]struct {
		counter prometheus.Collector
		want    int
	}{
		"dropped":            {m.dropped, ul.NumReasons * (int(ul.NumLevels) + 1)}, // lines, and bytes
		"lost by the JVM":    {m.jvmDropped, 1},
		"cut by the tmpfs":   {m.jvmCut, 1},
		"read, of one level": {m.readLines, 1},
	} {
		if got := testutil.CollectAndCount(c.counter); got != c.want {
			t.Errorf("%s: %d series, want %d", name, got, c.want)
		}
	}
}

// countedDrops returns how many lines of gc.log the metrics count as dropped.
func countedDrops(s *Source) (sum uint64) {
	for _, lines := range s.env.metrics.dropped.streams["gc.log"].lines {
		for _, n := range lines {
			sum += n
		}
	}
	return sum
}
