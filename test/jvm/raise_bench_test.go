package jvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// BenchmarkRaiseByAnnotation measures the time from a change of the annotations file until the first line at the new
// level is committed, with a sidecar's defaults and a JVM that collects a hundred times a second.
func BenchmarkRaiseByAnnotation(b *testing.B) {
	source, dest, notes := lab.Tmpfs(b, "64m"), b.TempDir(), filepath.Join(b.TempDir(), "annotations")
	annotate := func(text string) time.Time {
		asked := time.Now()
		if err := os.WriteFile(notes+".new", []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Rename(notes+".new", notes); err != nil {
			b.Fatal(err)
		}
		return asked
	}
	annotate("")
	side, err := lab.StartCommand(exec.Command(program, "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0",
		"--annotations", notes, "--attach", "process-namespace"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(side.Kill)
	log := Output{Selection: "gc*=info", File: filepath.Join(source, "gc.log"), Decorations: "uptime,level,tags"}
	jvm, err := Start(jdks[len(jdks)-1], log.Flag(), "-XX:+UseSerialGC", "-Xmx64m", "-Xmn4m", "-cp", classes, "Churn", "3600000", "300")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(jvm.Kill)
	persisted := func(level string) float64 {
		n, _ := side.Metric(`ullage_persisted_lines_total{level="` + level + `",stream="gc.log"}`) // 0 before the first
		return n
	}
	lab.Eventually(b, patience, "lines of level info", func() bool { return persisted("info") > 0 })

	var took []time.Duration
	for b.Loop() {
		before := persisted("debug")
		asked := annotate(`ullage.dev/log="gc*=debug"` + "\n")
		for persisted("debug") == before {
			if time.Since(asked) > patience {
				b.Fatalf("no line of level debug is persisted; ullage said:\n%s", side.Stderr())
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(asked))
		annotate("")
		for last, since := -1.0, time.Now(); time.Since(since) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
			if now := persisted("debug"); now != last {
				last, since = now, time.Now()
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s/median")
	b.ReportMetric(took[len(took)-1].Seconds(), "s/worst")
	b.ReportMetric(0, "ns/op")
}
