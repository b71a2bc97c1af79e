package ship

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/settings"
)

// A backlog above the marks at the start, a JVM that is gone, and a healthy
// destination: nothing needs to be dropped.
func TestBacklogAtAStartIsNotDropped(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget = 24 * settings.Mi
	b.appendTo("gc.log", strings.Repeat(lines(0, 1000), 22<<20/len(lines(0, 1000))))
	b.start()
	b.eventually("all of it is persisted", func() bool {
		st := b.ship.Stats()
		return len(st.Streams) == 1 && st.Streams[0].SegmentBytes > 0 && st.Usage.Backlog == 0
	})
	b.drain()
	b.staysZero("ullage_dropped_lines_total")
}

// A healthy disk and no pressure: no line was cut by a full tmpfs.
func TestWholeLinesAreNotCountedAsCut(t *testing.T) {
	b := newBench(t)
	b.start()
	b.appendTo("gc.log", lines(0, 50000))
	b.drain()
	b.staysZero("ullage_jvm_cut_lines_total")
}

// staysZero fails the test if a counter has counted, with whatever labels.
func (b *bench) staysZero(counter string) {
	b.t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if v := m.GetCounter().GetValue(); f.GetName() == counter && v > 0 {
				b.t.Errorf("%s%v is %v", counter, m.GetLabel(), v)
			}
		}
	}
}
