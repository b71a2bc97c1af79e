package jvm

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/incident"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/test/lab"
)

// anIncident runs `ullage incident` and returns the files of the archive, its manifest, and what the command printed.
func anIncident(r *levelRig, args ...string) (files map[string]string, m incident.Manifest, said string) {
	r.Helper()
	name := filepath.Join(r.TempDir(), "incident.zip")
	args = append([]string{"incident", "--attach", "process-namespace", "--output", name}, append(args, r.dest)...)
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		r.Fatal(err)
	}
	defer archive.Close()
	files = map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			r.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			r.Fatal(err)
		}
		if files[f.Name] = string(text); strings.Contains(string(text), "hunter2") {
			r.Errorf("%s has a secret of the application, want none", f.Name)
		}
	}
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		r.Fatal(err)
	}
	return files, m, string(out)
}

// shows runs a command on a directory of the destination, for the window of an archive.
func shows(r *levelRig, m incident.Manifest, dir string, args ...string) string {
	r.Helper()
	args = append(args, "--since", m.Since.Format(time.RFC3339Nano), "--until", m.Until.Format(time.RFC3339Nano), filepath.Join(r.dest, dir))
	cmd := exec.Command(program, args...)
	out, err := cmd.Output()
	if err != nil && args[0] != "check" {
		r.Fatalf("%q: %v", args, err)
	}
	return string(out)
}

// The archive of an incident has what the commands show for the same time: the lines, including withheld lines, the
// report, the marks, and whether the log is complete. The JVM is asked for its threads, its objects and its flags.
// After a crash, the archive has the crash report. It never has a secret of the command line or of the environment.
func TestTheArchiveOfAnIncident(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk, "--persist-level", "info", "--hindsight-on", "")
		r.Cleanup(func() { r.side.Kill() })
		jvm := r.start(r.outputs(Output{Selection: "gc*=debug,safepoint=info,arguments=info", File: "gc.log"}),
			"-Dpassword=hunter2", "-XX:+StartAttachListener", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile="+filepath.Join(r.source, "hs_err_pid%p.log"), "Churn", "600000", "50", "hunter2")
		r.shipped("gc.log", "Pause Young")
		lab.Eventually(r, patience, "lines are held", func() bool { h := statusOf(r).Hindsight; return h != nil && h.Bytes > 0 })
		lab.Eventually(r, patience, "the JVM is marked", func() bool { return strings.Contains(marksOf(r), "jvm-") })
		files, m, said := anIncident(r, "--threads", "--histogram")
		if !strings.HasSuffix(said, "\ncomplete: every line of that time is in it\n") || len(m.Lacks) > 0 {
			t.Errorf("the command printed:\n%sand the manifest has Lacks %q; want \"complete: every line of that time is in it\" as the last line and no Lacks", said, m.Lacks)
		}
		if detail := files["lines/gc.log+detail.txt"]; !strings.Contains(detail, "][debug") || detail != shows(r, m, "gc.log+detail", "logs") {
			t.Errorf("want the withheld lines as 'ullage logs' prints them, with debug lines, got: %.1000s", detail)
		}
		if d := cmp.Diff(withoutArguments(shows(r, m, "gc.log", "logs")), withoutArguments(files["lines/gc.log.txt"])); d != "" {
			t.Errorf("the lines are not those of 'ullage logs' (-want +got)\n%s", d)
		}
		if marks := files["marks.txt"]; !strings.HasPrefix(marks, shows(r, m, "", "logs", "--marks")) || !strings.Contains(marks, "jvm-") {
			t.Errorf("want the marks of 'ullage logs --marks' at the beginning, and one of a JVM, in the marks:\n%s", marks)
		}
		got, want := figures(t, files["report.json"]), figures(t, shows(r, m, "", "report", "--json"))
		if d := cmp.Diff(want.Totals, got.Totals); d != "" || got.Totals.Collections == 0 || cmp.Diff(want.Causes, got.Causes) != "" {
			t.Errorf("the report is not that of 'ullage report' (-want +got)\n%s", d)
		}
		if d := cmp.Diff(runsOf(shows(r, m, "", "check", "--json")), runsOf(files["check.json"])); d != "" {
			t.Errorf("the check is not that of 'ullage check' (-want +got)\n%s", d)
		}
		for name, want := range map[string]string{
			"threads-1.txt": `"main" #`, "histogram-1.txt": "java.lang.String", "flags-1.txt": "-XX:ErrorFile=", "levels.txt": "gc.log",
			"status.json": `"hindsight"`, "status.txt": "state:", "recent.json": `"pauses"`, "kernel-before.txt": "== /proc/meminfo\n", "check.txt": "\ncomplete: ",
			"report.html": "Content-Security-Policy", "index.html": "Complete: every line",
		} {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s lacks %q: %.2000s", name, want, files[name])
			}
		}
		archivesAStop(r)
		if err := syscall.Kill(jvm.PID(), syscall.SIGSEGV); err != nil {
			t.Fatal(err)
		}
		awaitMark(r, `hs_err\S+ +crash-report`)
		files, m, _ = anIncident(r)
		report := ""
		for name, text := range files {
			if strings.HasPrefix(name, "lines/hs_err") {
				report = text
			}
		}
		if !strings.Contains(report, "SIGSEGV") || !strings.Contains(report, "\nEnvironment Variables:\n[left out") || !strings.Contains(report, "\nSignal Handlers:\n") {
			t.Errorf("want \"SIGSEGV\", \"\\nEnvironment Variables:\\n[left out\" and \"\\nSignal Handlers:\\n\" in the report of the crash: %.3000s", report)
		}
		r.stop()
	})
}

// archivesAStop stops the JVM again and again, by histograms of its heap, and expects an archive about one of these
// stops.
func archivesAStop(r *levelRig) {
	r.Helper()
	done := make(chan struct{})
	stopping := make(chan error, 1)
	go func() {
		for {
			out, err := exec.Command(program, "incident", "--attach", "process-namespace", "--histogram", "--output", filepath.Join(r.TempDir(), "stop.zip"), r.dest).CombinedOutput()
			if err != nil {
				stopping <- fmt.Errorf("%w: %s", err, out)
				return
			}
			select {
			case <-done:
				stopping <- nil
				return
			default:
			}
		}
	}()
	begun := time.Now()
	files, m, _ := anIncident(r, "--when", "pause>1ms", "--within", "2s")
	close(done)
	if err := <-stopping; err != nil {
		r.Error(err)
	}
	at := m.Since.Add(2 * time.Second)
	if line := at.Format(ul.TimeLayout); !at.After(begun) || !strings.Contains(files["lines/gc.log.txt"], line) {
		r.Errorf("the archive is about %s, want the end of a stop after %s, with its line", line, begun)
	}
}

// withoutArguments removes lines with the arguments of a JVM, which an archive shows in part.
func withoutArguments(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "jvm_args: ") && !strings.Contains(line, "java_command: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// figures decodes a report.
func figures(t *testing.T, text string) *view.Report {
	t.Helper()
	r, err := view.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// runsOf returns the lines of 'ullage check' about runs of JVMs. The other lines have sizes of segments, which grow.
func runsOf(text string) string {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"kind":"run"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}
