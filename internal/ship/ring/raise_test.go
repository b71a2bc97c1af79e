package ring

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// raised is what a ring's JVM is asked for.
func (w *writer) raised() ul.Level { return ul.Level(le.Uint32(w.mem[raisedAt:])) }

func (w *writer) isRaisedTo(level ul.Level) {
	w.t.Helper()
	if got := w.raised(); got != level {
		w.t.Errorf("%s is raised to %v, want %v", w.path, got, level)
	}
}

func TestARaiseReachesRingsThatComeLater(t *testing.T) {
	source := tmpfs(t)
	first := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.rounds(1)
	first.isRaisedTo(ul.Unknown)
	s.Raise(ul.Debug)
	first.isRaisedTo(ul.Debug)
	second := newWriter(t, source, "events-8-1763722140999", minCapacity)
	s.rounds(2)
	second.isRaisedTo(ul.Debug)
	s.Raise(ul.Trace)
	first.isRaisedTo(ul.Trace)
	s.Raise(ul.Unknown)
	first.isRaisedTo(ul.Unknown)
	second.isRaisedTo(ul.Unknown)
	if got := s.errorsBy(); got != "" {
		t.Errorf("errors: %s", got)
	}
}

func TestTheNextSidecarEndsTheRaiseOfAKilledOne(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	killed := newSidecar(t, source).start()
	killed.rounds(1)
	killed.Raise(ul.Debug)
	killed.leave()
	w.isRaisedTo(ul.Debug)
	newSidecar(t, source).start().rounds(1)
	w.isRaisedTo(ul.Unknown)
}

func TestARaiseEndsWithTheSidecar(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.Raise(ul.Debug)
	w.isRaisedTo(ul.Debug)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx, func() {})
	w.isRaisedTo(ul.Unknown)
}

func TestARaiseOfARingThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.calls.before = func(at step, _ int, _ []byte, _ int64) error {
		if at == stepFlag {
			return because(reasonRefused, "not now")
		}
		return nil
	}
	s.Raise(ul.Debug)
	s.rounds(1)
	w.isRaisedTo(ul.Unknown)
	s.calls.before = nil
	s.rounds(1)
	w.isRaisedTo(ul.Debug)
	if got := s.errorsBy(); got != "refused=1" {
		t.Errorf("errors: %s", got)
	}
}

// A status shows what the JVM sees, and a file that is no ring as that.
func TestASurveyShowsEachRing(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.rounds(1)
	s.Raise(ul.Debug)
	const bad = "events-9-1763722140999.ring"
	if err := os.WriteFile(filepath.Join(source, bad), []byte("no ring"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(source, "events-10-1763722141999.ring")); err != nil {
		t.Fatal(err)
	}
	all, err := Survey(source)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := all[0]; got.Raised != ul.Debug || got.Capacity != minCapacity || got.Problem != "" || got.Name != filepath.Base(w.path) {
		t.Errorf("%+v", got)
	}
	for _, got := range all[1:] {
		if got.Problem == "" || got.Capacity != 0 || got.Raised != ul.Unknown {
			t.Errorf("%+v", got)
		}
	}
	if all, err := Survey(filepath.Join(source, "missing")); err != nil || len(all) != 0 {
		t.Errorf("a missing source has %+v, %v", all, err)
	}
}
