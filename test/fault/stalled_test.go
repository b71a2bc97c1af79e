package fault

import (
	"fmt"
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
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// A real control group throttles a process with the name java. The verdict names the throttling, with the
// kernel's own numbers. The log lines about the stops are made up; the counters are real.
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
	in := insight.New(insight.DefaultConfig(), trigger.New(trigger.Config{}, nil, reg), func(mark.Mark) {}, reg, slog.New(slog.DiscardHandler))
	go in.Run(t.Context())
	var c ul.Classifier
	stop := func(number int, length time.Duration) insight.Stop {
		at := time.Now().UTC().Format("[2006-01-02T15:04:05.000+0000]")
		for _, line := range []string{
			fmt.Sprintf("[info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) %d.000ms", number, length.Milliseconds()),
			fmt.Sprintf("[info][gc,cpu] GC(%d) User=0.01s Sys=0.00s Real=%.2fs", number, length.Seconds()),
			fmt.Sprintf(`[info][safepoint] Safepoint "G1CollectForAllocation", Reaching safepoint: 1 ns, At safepoint: %d ns, Total: %d ns`, length, length+1),
		} {
			in.Line("gc.log", []byte(at+line), c.Classify([]byte(at+line)))
		}
		lab.Eventually(t, lab.Patience, "a verdict", func() bool {
			stops := in.Recent()
			return len(stops) == number && stops[0].Verdict != ""
		})
		return in.Recent()[0]
	}
	calm := stop(1, time.Second) // once it has a verdict, the counters before the limit are known
	limit.percent(1)
	began, was := time.Now(), limit.throttled()
	lab.Eventually(t, lab.Patience, "the kernel throttles the process for a second", func() bool { return limit.throttled()-was > time.Second })
	s := stop(2, time.Since(began)-10*time.Millisecond) // the 10 ms make it begin after the limit was set: its end is rounded down to milliseconds
	t.Logf("%s: %s; without a limit: %s: %s", s.Verdict, s.Evidence, calm.Verdict, calm.Evidence)
	if s.Verdict != insight.Throttled || !strings.Contains(s.Evidence, "by the CPU limit in ") {
		t.Errorf("got the verdict %q with the evidence %q, want %q with the CPU limit", s.Verdict, s.Evidence, insight.Throttled)
	}
	if calm.Verdict == insight.Throttled {
		t.Errorf("without a limit the evidence is %q", calm.Evidence)
	}
}
