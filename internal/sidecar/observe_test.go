package sidecar

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// These lines are from a JVM 25 with gc=info and safepoint=info on a frozen disk. No line alone
// shows that the write of the pause's line waited.
func TestWhoLooksForStallsSeesWhatTheInsightJoins(t *testing.T) {
	lines := []string{
		"[1.000s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.748ms",
		`[3.500s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 2547112539 ns, Leaving safepoint: 9 ns, Total: 2547121548 ns`,
	}
	idle := []string{lines[0], "[3.400s][info][gc,cpu] GC(3) User=0.01s Sys=0.00s Real=2.54s", lines[1]}
	for _, c := range []struct {
		insight bool
		floor   string
		lines   []string
		want    int
	}{{true, "100ms", lines, 1}, {true, "100ms", idle, 1}, {false, "100ms", lines, 0}, {false, "100ms", idle, 1}, {true, "5s", idle, 0}, {false, "5s", idle, 0}} {
		t.Run(fmt.Sprintf("insight %v, floor %s, %d lines", c.insight, c.floor, len(c.lines)), func(t *testing.T) {
			cfg, fired := DefaultConfig(), 0
			if err := cfg.StallFloor.Set(c.floor); err != nil {
				t.Fatal(err)
			}
			triggers := trigger.New(trigger.Config{SaveOn: ask.IOStallCondition, Floor: cfg.StallFloor}, func(string, string) { fired++ }, prometheus.NewRegistry())
			cfg.complete()
			var in *insight.Insight
			if c.insight {
				in = insight.New(cfg.Insight, triggers, func(mark.Mark) {}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
			}
			see, _ := cfg.observers(triggers, in)
			var class ul.Classifier
			for _, line := range c.lines {
				see("gc.log", []byte(line), class.Classify([]byte(line)))
			}
			if fired != c.want {
				t.Errorf("fired %d times, want %d", fired, c.want)
			}
		})
	}
}
