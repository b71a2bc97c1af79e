package ring

import (
	"bytes"
	"context"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
)

func (w *writer) isRaisedTo(level ul.Level) {
	w.t.Helper()
	w.hasRaise(loggers.Of(level))
}

// hasRaise fails the test unless the ring asks its JVM for the wanted levels.
func (w *writer) hasRaise(want loggers.Levels) {
	w.t.Helper()
	if got := parseRaised(w.mem); got.levels != want || !got.whole {
		w.t.Errorf("%s is raised to %+v, want %v", w.path, got, want)
	}
}

func parsed(t *testing.T, text string) loggers.Levels {
	t.Helper()
	l, err := loggers.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestARaiseReachesRingsThatComeLater(t *testing.T) {
	source := tmpfs(t)
	first := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.rounds(1)
	first.isRaisedTo(ul.Unknown)
	s.Raise(loggers.Of(ul.Debug))
	first.isRaisedTo(ul.Debug)
	second := newWriter(t, source, "events-8-1763722140999", minCapacity)
	s.rounds(2)
	second.isRaisedTo(ul.Debug)
	s.Raise(loggers.Of(ul.Trace))
	first.isRaisedTo(ul.Trace)
	s.Raise(loggers.Levels{})
	first.isRaisedTo(ul.Unknown)
	second.isRaisedTo(ul.Unknown)
	if got := s.errorsBy(); got != "" {
		t.Errorf("the errors are %s, want nothing", got)
	}
}

func TestTheNextSidecarEndsTheRaiseOfAKilledOne(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	killed := newSidecar(t, source).start()
	killed.rounds(1)
	killed.Raise(loggers.Of(ul.Debug))
	killed.leave()
	w.isRaisedTo(ul.Debug)
	newSidecar(t, source).start().rounds(1)
	w.isRaisedTo(ul.Unknown)
}

func TestARaiseEndsWithTheSidecar(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.Raise(loggers.Of(ul.Debug))
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
	s.Raise(loggers.Of(ul.Debug))
	s.rounds(1)
	w.isRaisedTo(ul.Unknown)
	s.calls.before = nil
	s.rounds(1)
	w.isRaisedTo(ul.Debug)
	if got := s.errorsBy(); got != "refused=1" {
		t.Errorf(`the errors are %s, want "refused=1"`, got)
	}
}

// A survey shows the raise that a JVM sees. It also reports files that are not rings.
func TestASurveyShowsEachRing(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.rounds(1)
	s.Raise(loggers.Of(ul.Debug))
	const bad = "events-9-1763722140999.ring"
	if err := os.WriteFile(filepath.Join(source, bad), []byte("no ring"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(source, "events-10-1763722141999.ring")); err != nil {
		t.Fatal(err)
	}
	all, err := Survey(source)
	if err != nil || len(all) != 3 {
		t.Fatalf("the survey is %+v, error %v, want 3 files and no error", all, err)
	}
	if got := all[0]; got.Raised != loggers.Of(ul.Debug) || got.Capacity != minCapacity || got.Problem != "" || got.Name != filepath.Base(w.path) {
		t.Errorf("the survey shows the ring as %+v, want %s with the capacity %d, raised to debug, without a problem", got, filepath.Base(w.path), minCapacity)
	}
	for _, got := range all[1:] {
		if got.Problem == "" || got.Capacity != 0 || !got.Raised.IsZero() {
			t.Errorf("the survey shows a file that is not a ring as %+v, want a problem, no capacity and no raise", got)
		}
	}
	if all, err := Survey(filepath.Join(source, "missing")); err != nil || len(all) != 0 {
		t.Errorf("a survey of a missing source returns %+v, %v; want no ring and no error", all, err)
	}
}

// A JVM reads the rules again when their generation changes.
func TestARaiseOfLoggersHasAnotherGenerationEachTime(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	s.rounds(1)
	acme, sql := parsed(t, "com.acme=debug"), parsed(t, "info,org.h.SQL=trace")
	for i, to := range []loggers.Levels{acme, sql, sql, {}, sql, acme, loggers.Of(ul.Info), acme} {
		s.Raise(to)
		w.hasRaise(to)
		if got, want := parseRaised(w.mem).generation, []uint16{1, 2, 2, 2, 3, 4, 4, 5}[i]; got != want {
			t.Errorf("raise %d, to %q, is generation %d, want %d", i, to, got, want)
		}
	}
	if got, want := le.Uint32(w.mem[raisedAt:]), uint32(ul.Debug)|5<<generationShift; got != want {
		t.Errorf("the word is %#x, want %#x", got, want)
	}
	s.leave()
	next := newSidecar(t, source)
	next.Raise(acme)
	next.start()
	if got := parseRaised(w.mem).generation; got != 5 {
		t.Errorf("the next sidecar writes the same raise as generation %d, want 5", got)
	}
	next.Raise(sql)
	if got := parseRaised(w.mem).generation; got != 6 {
		t.Errorf("the next sidecar writes generation %d, want 6", got)
	}
}

// If a sidecar is killed between the two writes of a raise, the rules in the ring have a later
// generation than the word and raise nothing.
func TestARaiseOfLoggersThatIsHalfWrittenIsWrittenAgain(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	s := newSidecar(t, source).start()
	acme, sql := parsed(t, "com.acme=debug"), parsed(t, "org.h.SQL=debug")
	s.Raise(acme)
	s.calls.before = func(at step, _ int, _ []byte, offset int64) error {
		if at == stepFlag && offset == raisedAt {
			return because(reasonRefused, "not now")
		}
		return nil
	}
	s.Raise(sql)
	if got := parseRaised(w.mem); got.whole || !got.levels.IsZero() {
		t.Errorf("half of a raise is %+v, want no level, and not whole", got)
	}
	s.calls.before = nil
	s.rounds(1)
	w.hasRaise(sql)
}

// A raise that an application has written raises nothing and is overwritten.
func TestAForgedRaiseIsWrittenOver(t *testing.T) {
	source := tmpfs(t)
	w := newWriter(t, source, testName, minCapacity)
	first := newSidecar(t, source).start()
	want := parsed(t, "com.acme=debug")
	first.Raise(want)
	first.leave()
	sound := bytes.Clone(w.mem[:loggersEnd])
	for name, forge := range map[string]func(h []byte){
		"a level that is invalid":       func(h []byte) { le.PutUint32(h[raisedAt:], 200) },
		"another lowest level":          func(h []byte) { h[raisedAt] = 1 },
		"another level for all loggers": func(h []byte) { h[raisedAt+1] = 2 },
		"another generation":            func(h []byte) { h[raisedAt+2]++ },
		"a huge length":                 func(h []byte) { le.PutUint32(h[loggersAt+rulesLength:], 1<<31) },
		"the largest length of rules":   func(h []byte) { le.PutUint32(h[loggersAt+rulesLength:], loggers.MaxText) },
		"another logger":                func(h []byte) { h[loggersAt+rulesText] = 'x' },
		"a check of other rules":        func(h []byte) { h[loggersAt]++ },
		"nothing":                       func(h []byte) { clear(h[loggersAt:]) },
		"unsound rules": func(h []byte) {
			text := "com.acme=off"
			copy(h[loggersAt+rulesText:], text)
			le.PutUint32(h[loggersAt+rulesLength:], uint32(len(text)))
			le.PutUint32(h[loggersAt:], crc32.Checksum(h[loggersAt+rulesGeneration:loggersAt+rulesText+len(text)], castagnoli))
		},
	} {
		copy(w.mem, sound)
		forge(w.mem[:loggersEnd])
		if got := parseRaised(w.mem); got.whole || !got.levels.IsZero() {
			t.Errorf("%s: the forged raise is %+v, want no level, and not whole", name, got)
		}
		next := newSidecar(t, source).start()
		next.Raise(want)
		w.hasRaise(want)
		next.leave()
	}
}
