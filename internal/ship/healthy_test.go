package ship

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/settings"
)

// A backlog above the marks at the start, a JVM that is gone, and a healthy
// destination: nothing needs to be dropped.
func TestBacklogAtAStartIsNotDropped(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget = 24 * settings.Mi
	b.appendTo("gc.log", strings.Repeat(lines(0, 1000), 22<<20/len(lines(0, 1000))))
	b.start()
	time.Sleep(2 * time.Second)
	b.drain()
	n := testutil.ToFloat64(b.ship.metrics.checkpointErrors)
	_ = n
	families, _ := b.reg.Gather()
	for _, f := range families {
		if f.GetName() == "ullage_dropped_lines_total" {
			for _, m := range f.GetMetric() {
				if v := m.GetCounter().GetValue(); v > 0 {
					t.Errorf("%v dropped: %v", v, m.GetLabel())
				}
			}
		}
	}
}

// A healthy disk and no pressure: no line was cut by a full tmpfs.
func TestWholeLinesAreNotCountedAsCut(t *testing.T) {
	b := newBench(t)
	b.start()
	b.appendTo("gc.log", lines(0, 50000))
	b.drain()
	families, _ := b.reg.Gather()
	for _, f := range families {
		if f.GetName() == "ullage_jvm_cut_lines_total" {
			for _, m := range f.GetMetric() {
				if v := m.GetCounter().GetValue(); v > 0 {
					t.Errorf("%v lines are counted as cut by ENOSPC", v)
				}
			}
		}
	}
}
