package fault

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/jvm"
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
	s := stop(2, time.Since(began)-10*time.Millisecond) // 10 ms less, so that the stop begins after the limit was set: the time of its end is rounded down to milliseconds
	t.Logf("%s: %s; without a limit: %s: %s", s.Verdict, s.Evidence, calm.Verdict, calm.Evidence)
	if s.Verdict != insight.Throttled || !strings.Contains(s.Evidence, "by the CPU limit in ") {
		t.Errorf("got the verdict %q with the evidence %q, want %q with the CPU limit", s.Verdict, s.Evidence, insight.Throttled)
	}
	if calm.Verdict == insight.Throttled {
		t.Errorf("without a limit the verdict is %q with the evidence %q, want another verdict", calm.Verdict, calm.Evidence)
	}
}

// A real JVM waits for the disk of a second log, which is frozen: no counter of the kernel shows such a wait. The mark
// of the stall names the kernel function in which the JVM's VM thread waited.
func TestTheKernelFunctionOfAStallIsNamed(t *testing.T) {
	needRoot(t)
	jdks := lab.NeedsJDKs(t)
	classes := jdks[0].Classes(t, filepath.Join("testdata", "Incident.java"))
	named := regexp.MustCompile(`(?m) gc\.log +jvm-stalled +ended=\S+ seconds=[2-9]\.\d{3} verdict=\w+ why="a VM thread waited in the kernel function ([\w.]+)`)
	for _, jdk := range jdks {
		t.Run(jdk.String(), func(t *testing.T) {
			t.Parallel() // each has its own disk and source
			v, source, dest := newVolumeOf(t, "64M"), lab.Tmpfs(t, "64m"), t.TempDir()
			p, err := jvm.Start(jdk, "-XX:+UseSerialGC", "-Xmx400m", "-cp", classes, "-Xlog:gc*,safepoint:file="+filepath.Join(source, "gc.log"),
				"-Xlog:gc*:file="+filepath.Join(v.Dir, "second.log"), "Incident", "600000")
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			side := lab.Run(t, source, dest)
			lab.Eventually(t, lab.Patience, "the sidecar reads the log", func() bool {
				n, err := side.Metric(`ullage_jvm_heap_after_gc_bytes{stream="gc.log"}`)
				return err == nil && n > 0
			})
			var found []string
			lab.Eventually(t, 2*lab.Patience, "a mark names the function", func() bool {
				thaw := v.freeze()
				time.Sleep(2500 * time.Millisecond) // at least two samples
				thaw()
				marks, _ := exec.Command(lab.Binary(), "logs", "--marks", dest).Output()
				found = named.FindStringSubmatch(string(marks))
				return found != nil
			})
			t.Log(found)
		})
	}
}
