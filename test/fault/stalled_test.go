package fault

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// A process with the name java is throttled by a real control group. The verdict names it, with the kernel's own
// numbers. The lines about the stop are invented, the counters are real.
func TestThrottledByARealLimit(t *testing.T) {
	limit := cpuGroup(t)
	java := filepath.Join(t.TempDir(), "java")
	if err := os.Symlink("/bin/sh", java); err != nil {
		t.Fatal(err)
	}
	busy := exec.CommandContext(t.Context(), java, "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	limit.set("cgroup.procs", strconv.Itoa(busy.Process.Pid))

	reg := prometheus.NewRegistry()
	in := insight.New(insight.DefaultConfig(), trigger.New(trigger.Config{}, nil, reg), reg, slog.New(slog.DiscardHandler))
	go in.Run(t.Context())
	calm := time.Now()
	lab.Eventually(t, lab.Patience, "two calm samples", func() bool { return time.Since(calm) > 2*time.Second })
	limit.percent(5)
	late := time.Now()
	lab.Eventually(t, lab.Patience, "the time of the stop", func() bool { return time.Since(late) > 1700*time.Millisecond })

	end := time.Now().UTC()
	at := end.Format("[2006-01-02T15:04:05.000+0000]")
	var c ul.Classifier
	for _, line := range []string{
		at + "[info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 1500.000ms",
		at + "[info][gc,cpu] GC(1) User=0.01s Sys=0.00s Real=1.50s",
		at + `[info][safepoint] Safepoint "G1CollectForAllocation", Reaching safepoint: 1 ns, At safepoint: 1500100000 ns, Total: 1500100001 ns`,
	} {
		in.Line("gc.log", []byte(line), c.Classify([]byte(line)))
	}
	var stops []insight.Stop
	lab.Eventually(t, lab.Patience, "a verdict", func() bool {
		stops = in.Recent()
		return len(stops) == 1 && stops[0].Verdict != ""
	})
	t.Logf("%s: %s", stops[0].Verdict, stops[0].Evidence)
	if s := stops[0]; s.Verdict != insight.Throttled || !strings.Contains(s.Evidence, "by the CPU limit in ") {
		t.Errorf("got the verdict %q with the evidence %q, want %q with the length and the number of the periods", s.Verdict, s.Evidence, insight.Throttled)
	}
}
