package census

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// rig is a source and the /tmp of its JVMs.
type rig struct {
	t   testing.TB
	cfg outputs.Config
}

// impatience is Attach.Timeout in tests in which a JVM does not answer.
const impatience = time.Second

func newRig(t testing.TB) *rig {
	t.Helper()
	return &rig{t, outputs.Config{Attach: attach.Config{Mode: attach.SharedTmp, Tmp: t.TempDir(), Timeout: lab.Patience}, Source: t.TempDir(), Match: "*.log*"}}
}

// jvm starts a JVM that logs into the source.
func (r *rig) jvm(pid int) *fakejvm.JVM {
	r.t.Helper()
	return fakejvm.Start(r.t, r.cfg.Attach.Tmp, pid, filepath.Join(r.cfg.Source, "gc.log"))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCensus(r *rig) (*Census, *bytes.Buffer) {
	var log bytes.Buffer
	return New(r.cfg, Outlets{}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil))), &log
}

// A second log on a disk silently defeats the purpose of the tmpfs.
func TestLogsOutsideOfTheSourceAreFound(t *testing.T) {
	r := newRig(t)
	own, data := filepath.Join(r.cfg.Source, "gc.log"), "/data/gc.log"
	ours := fakejvm.Start(t, r.cfg.Attach.Tmp, 7, own, filepath.Join(r.cfg.Source, "hs.txt"), data, "relative.log", "/dev/stdout", "/proc/1/fd/2")
	fakejvm.Start(t, r.cfg.Attach.Tmp, 8, "/other/gc.log") // a JVM that does not log into the source
	e, log := newCensus(r)
	e.look(t.Context())
	want := []string{"pid 7: /data/gc.log", "pid 7: relative.log"}
	if diff := cmp.Diff(want, e.Files()); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
	if n := testutil.ToFloat64(e.gauge); n != 2 {
		t.Errorf("the gauge is %v, want 2", n)
	}
	if text := log.String(); strings.Count(text, "logs outside the source") != 2 {
		t.Errorf("want 2 warnings in the log:\n%s", text)
	}
	// The JVM is sent only one command, a list.
	e.look(t.Context())
	if got := ours.Sent(0); !slices.Equal(got, []string{"VM.log list"}) {
		t.Errorf("the JVM was sent %q, want one list and nothing else", got)
	}
	if strings.Count(log.String(), "logs outside the source") != 2 {
		t.Error("the warnings were logged again")
	}
	// A restarted JVM is asked again. A JVM that is gone has no files.
	ours.Began = ours.Began[:3]
	ours.Restart()
	e.look(t.Context())
	if len(e.Files()) != 0 || len(ours.Sent(0)) != 2 {
		t.Errorf("after a restart, the files are %q; the JVM was sent %q, want no files and 2 commands", e.Files(), ours.Sent(0))
	}
}

// A JVM that does not answer is asked only a few times.
func TestAJVMThatDoesNotAnswerIsNotAskedForEver(t *testing.T) {
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	j := r.jvm(7)
	j.When(func(string) fakejvm.Reaction { return fakejvm.Mute })
	e, _ := newCensus(r)
	for range maxAsked + 3 {
		e.look(t.Context())
	}
	if n := len(j.Sent(0)); n != maxAsked || len(e.Files()) != 0 {
		t.Errorf("the JVM was asked %d times, and the files are %q; want %d times and no file", n, e.Files(), maxAsked)
	}
}
