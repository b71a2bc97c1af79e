package admin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestSamplesAreWhatAMetricHas(t *testing.T) {
	lines := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lines"}, []string{"stream", "level"})
	lines.WithLabelValues("gc.log", "info").Add(3)
	lines.WithLabelValues("app.log", "info").Add(4)
	lines.WithLabelValues("gc.log", "debug").Add(0)
	lines.WithLabelValues("gc.log", "error").Add(1)
	free := prometheus.NewGauge(prometheus.GaugeOpts{Name: "free"})
	free.Set(1 << 40)
	s := SamplesOf(lines)
	if all, gc, bytes := s.Sum(), s.Without("stream", "app.log").Sum(), SamplesOf(free).Sum(); all != 8 || gc != 4 || bytes != 1<<40 {
		t.Errorf("%d lines, %d of gc.log, %d bytes; want 8, 4, %d", all, gc, bytes, 1<<40)
	}
	if d := cmp.Diff(map[string]int64{"info": 7, "error": 1}, s.By("level")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
