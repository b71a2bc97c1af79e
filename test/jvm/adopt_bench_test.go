package jvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/adopt"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/test/lab"
)

// BenchmarkAdopt measures how long it takes until the first line of a JVM that collects a hundred
// times a second is on the tmpfs. One time is from the start of `ullage adopt`. The other is from
// the first command that is sent to a JVM that already listens.
func BenchmarkAdopt(b *testing.B) {
	jvm, err := Start(jdks[len(jdks)-1], "-XX:+UseSerialGC", "-XX:+StartAttachListener", "-Xmx64m", "-Xmn4m", "-cp", classes, "Churn", "3600000", "300")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		jvm.Kill()
		os.Remove("/tmp/.java_pid" + strconv.Itoa(jvm.PID()))
	})
	var listening attach.JVM
	lab.Eventually(b, patience, "the JVM listens", func() bool {
		found, _ := attach.Processes(b.Context(), adopt.Config(jvm.PID()))
		if len(found) != 1 {
			return false
		}
		listening = found[0]
		_, err := outputs.New(outputs.Config{Attach: adopt.Config(jvm.PID())}).List(b.Context(), listening)
		return err == nil
	})
	var command, attached []time.Duration
	for b.Loop() {
		command = append(command, adoptsByCommand(b, jvm.PID()))
		attached = append(attached, adoptsByAttach(b, listening))
	}
	report := func(what string, took []time.Duration) {
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms/"+what+"-median")
		b.ReportMetric(took[len(took)-1].Seconds()*1000, "ms/"+what+"-worst")
	}
	report("command", command)
	report("attach", attached)
	b.ReportMetric(0, "ns/op")
}

// firstLine waits for the first line in a file that matches the pattern and returns the time since
// began.
func firstLine(b *testing.B, pattern string, began time.Time) time.Duration {
	b.Helper()
	for {
		paths, _ := filepath.Glob(pattern) // the pattern is well-formed
		for _, path := range paths {
			if stat, err := os.Stat(path); err == nil && stat.Size() > 0 {
				return time.Since(began)
			}
		}
		if time.Since(began) > patience {
			b.Fatalf("no line in %s", pattern)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// adoptsByCommand adopts a JVM with `ullage adopt`, releases it, and returns the time until its
// first line.
func adoptsByCommand(b *testing.B, pid int) time.Duration {
	b.Helper()
	cmd := exec.Command(program, "adopt", strconv.Itoa(pid), "gc*=info", "--for", "1h", "--dest", filepath.Join(b.TempDir(), "copy"))
	began := time.Now()
	side, err := lab.StartCommand(cmd)
	if err != nil {
		b.Fatal(err)
	}
	defer side.Kill()
	took := firstLine(b, "/dev/shm/ullage-"+strconv.Itoa(pid)+"-*/gc-"+strconv.Itoa(pid)+".log", began)
	lab.Eventually(b, patience, "the JVM is adopted", func() bool { return side.Exited() || len(side.Stderr()) > 0 })
	if err := side.Stop(patience); err != nil {
		b.Fatalf("%v; ullage adopt said:\n%s", err, side.Stderr())
	}
	return took
}

// adoptsByAttach gives a JVM an output, as a sidecar does, removes it, and returns the time until
// the first line.
func adoptsByAttach(b *testing.B, j attach.JVM) time.Duration {
	b.Helper()
	source := lab.Tmpfs(b, "64m")
	talk := outputs.New(outputs.Config{Attach: adopt.Config(j.PID), Source: source, Match: "*.log*"})
	what, err := ask.ParseSelection("gc*=info")
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	name, err := talk.OutputFor(j)
	if err == nil {
		err = talk.Adopt(b.Context(), j, name, what)
	}
	if err != nil {
		b.Fatal(err)
	}
	took := firstLine(b, filepath.Join(source, "gc-*.log"), began)
	if err := talk.Release(b.Context(), j, name); err != nil {
		b.Fatal(err)
	}
	return took
}
