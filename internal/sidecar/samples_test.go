package sidecar

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// What /status shows is what the metrics have.
func TestStatusCountsByStreamLevelAndReason(t *testing.T) {
	reg := prometheus.NewRegistry()
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ullage_dropped_lines_total"}, []string{"stream", "level", "reason"})
	free := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_destination_free_bytes"})
	pause := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ullage_commit_duration_seconds"})
	reg.MustRegister(dropped, free, pause)
	pause.Observe(1)
	free.Set(1 << 40)
	dropped.WithLabelValues("gc.log", "info", "discard").Add(3)
	dropped.WithLabelValues("app.log", "info", "discard").Add(4)
	dropped.WithLabelValues("gc.log", "debug", "discard").Add(0)
	dropped.WithLabelValues("gc.log", "error", "drop").Add(1)
	s := gather(reg)
	if got := s.without("stream", "app.log").sum("ullage_dropped_lines_total"); got != 4 {
		t.Errorf("%d lines are dropped without those of a stream", got)
	}
	if got := s.sum("ullage_dropped_lines_total"); got != 8 {
		t.Errorf("%d lines are dropped", got)
	}
	if got := s.sum("ullage_destination_free_bytes"); got != 1<<40 {
		t.Errorf("%d bytes are free", got)
	}
	if got := s.sum("ullage_none") + s.sum("ullage_commit_duration_seconds"); got != 0 {
		t.Errorf("%d of what is not counted", got)
	}
	if d := cmp.Diff(map[string]int64{"gc.log": 4, "app.log": 4}, s.by("ullage_dropped_lines_total", "stream")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(map[string]map[string]int64{"discard": {"info": 7}, "drop": {"error": 1}}, droppedBy(s)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
