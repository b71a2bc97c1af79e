package fault

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

const (
	cutLines   = `ullage_jvm_cut_lines_total{stream="` + stream + `"}`
	cutSeconds = `ullage_jvm_cut_seconds_total{stream="` + stream + `"}`
)

// While the sidecar is stopped, it frees no space. The tmpfs fills up, the writer continues without its log, and its
// lost lines are counted.
func TestSidecarIsStopped(t *testing.T) {
	p := newPressed(t, "32m", filepath.Join(t.TempDir(), "dest"))
	p.pour(20e6)
	p.persists()
	if err := p.side.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.lasts(long(30*time.Second, 5*time.Second))
	if p.flood.Lost() == 0 {
		t.Error("the tmpfs was never full, want it full: otherwise the test proves nothing")
	}
	if err := p.side.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.persists()
	p.stop()
	// A loss is visible only if another record begins inside the cut line.
	glued := float64(p.report.Glued())
	defer func() { t.Logf("%d losses, %v of them glued", len(p.report.Losses), glued) }()
	lab.Eventually(t, patience, "everything is durable, and every glued line is counted", func() bool {
		return p.metric("ullage_backlog_bytes") == 0 && p.metric(cutLines) == glued
	})
	account := p.settles()
	t.Logf("%d lines lost by the writer", account.Cut)
}

// The same happens to a real JVM, which must end without an error.
func TestSidecarIsStoppedBesideAJVM(t *testing.T) {
	needRoot(t)
	jdks := lab.NeedsJDKs(t)
	classes, err := jvm.Compile(jdks[0], t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, jdk := range jdks {
		t.Run(jdk.String(), func(t *testing.T) { stopBeside(t, jdk, classes) })
	}
}

func stopBeside(t *testing.T, jdk lab.JDK, classes string) {
	source, dest := lab.Tmpfs(t, "2m"), filepath.Join(t.TempDir(), "dest")
	side := lab.Run(t, source, dest, "--sync-interval", "100ms")
	if _, err := side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	if err := side.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	output := jvm.Output{Selection: "all=debug,gc*=trace", File: filepath.Join(source, stream), Options: "filecount=1,filesize=0"}
	full := long(30*time.Second, 1500*time.Millisecond)
	p, err := jvm.Start(jdk, output.Flag(), "-cp", classes, "-Xmx64m", "Churn", milliseconds(full+5*time.Second), "200")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	// How soon a JVM fills the tmpfs with its log depends on the machine.
	lab.Eventually(t, patience, "the tmpfs is full", func() bool { return lab.InUse(source) >= mib*2-64<<10 })
	since := time.Now()
	time.Sleep(full)
	stopped := time.Since(since)
	if err := side.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(patience); err != nil {
		t.Error(err)
	}
	lab.Eventually(t, patience, "the JVM's lost lines are counted", func() bool {
		n, err := side.Metric(cutLines)
		return err == nil && n > 0
	})
	if lost, err := side.Metric(cutSeconds); err != nil || lost < stopped.Seconds()/2 {
		t.Errorf("%v s without lines are counted (error %v), although the tmpfs was full for %s; want at least half of that and no error", lost, err, stopped)
	}
	if err := side.Stop(patience); err != nil {
		t.Error(err)
	}
	// The commands that read the copy report the loss too.
	gaps, err := command(lab.Binary(), "logs", "--gaps", dest)
	if err != nil || !regexp.MustCompile(`(?m)^\S+ +`+stream+` +jvm-full +- +- +[0-9.]+ `).MatchString(gaps) {
		t.Errorf("ullage logs --gaps: error %v; want no error and a gap jvm-full of %s in:\n%s", err, stream, gaps)
	}
	if found, err := command(lab.Binary(), "check", dest); err == nil || !strings.Contains(found, "because its tmpfs was full") {
		t.Errorf("ullage check: got the error %v, want an error, and \"because its tmpfs was full\" in the output:\n%s", err, found)
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
