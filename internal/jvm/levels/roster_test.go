package levels

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func newRoster(r *rig) (*Roster, *bytes.Buffer) {
	var log bytes.Buffer
	return NewRoster(r.cfg, nil, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil))), &log
}

// A second log on a disk undoes what the tmpfs is for, and nobody sees it.
func TestLogsOutsideOfTheSourceAreFound(t *testing.T) {
	r := newRig(t)
	own, data := filepath.Join(r.cfg.Source, "gc.log"), "/data/gc.log"
	ours := startJVM(t, r.cfg.Attach.Tmp, 7, own, filepath.Join(r.cfg.Source, "hs.txt"), data, "relative.log", "/dev/stdout", "/proc/1/fd/2")
	startJVM(t, r.cfg.Attach.Tmp, 8, "/other/gc.log") // ships nothing: somebody else's
	e, log := newRoster(r)
	e.look(t.Context())
	want := []string{"pid 7: /data/gc.log", "pid 7: relative.log"}
	if diff := cmp.Diff(want, e.Files()); diff != "" {
		t.Error(diff)
	}
	if n := testutil.ToFloat64(e.gauge); n != 2 {
		t.Errorf("the gauge is %v", n)
	}
	if text := log.String(); strings.Count(text, "logs outside of the source") != 2 {
		t.Errorf("the log:\n%s", text)
	}
	// It is asked once, for a list and nothing else.
	e.look(t.Context())
	if got := ours.sent(0); !slices.Equal(got, []string{"VM.log list"}) {
		t.Errorf("commands: %q", got)
	}
	if strings.Count(log.String(), "logs outside of the source") != 2 {
		t.Error("logged twice")
	}
	// Another run of the JVM is asked again; one that is gone has no files.
	ours.began = ours.began[:3]
	ours.restart()
	e.look(t.Context())
	if len(e.Files()) != 0 || len(ours.sent(0)) != 2 {
		t.Errorf("after a restart: %q, commands %q", e.Files(), ours.sent(0))
	}
}

// A JVM that does not answer is left alone after a while.
func TestAJVMThatDoesNotAnswerIsNotAskedForEver(t *testing.T) {
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	j := r.jvm(7)
	j.when(func(string) reaction { return mute })
	e, _ := newRoster(r)
	for range maxAsked + 3 {
		e.look(t.Context())
	}
	if n := len(j.sent(0)); n != maxAsked || len(e.Files()) != 0 {
		t.Errorf("asked %d times: %q", n, e.Files())
	}
}
