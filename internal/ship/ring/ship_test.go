package ring

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/ship/tail"
)

// shipped runs a shipper and the rings of a source until ctx ends, as `ullage run` does.
func shipped(ctx context.Context, t *testing.T, source, dest string, before func(step, int, []byte, int64) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	reg := prometheus.NewRegistry()
	rings := New(reg, log, nil)
	rings.calls.before = before
	cfg := ship.DefaultConfig()
	cfg.Tail.Source, cfg.Dest, cfg.SyncInterval = source, dest, 20*time.Millisecond
	cfg.Segment.Compress = segment.None
	s := ship.New(cfg, reg, log)
	killed := false
	var work sync.WaitGroup
	work.Go(func() {
		defer func() {
			if v := recover(); v == errKilled {
				killed = true
				cancel()
			} else if v != nil {
				panic(v)
			}
		}()
		if s.AwaitTurn(ctx) {
			rings.Run(ctx, func() {})
		}
	})
	if err := s.Run(ctx, ship.Outlets{Opened: rings.Open, Source: tail.Outlets{Rings: rings.Wake}}); err != nil {
		t.Error(err)
	}
	if work.Wait(); killed {
		rings.leave() // the kernel closes all files of a process at the same time
	}
}

// Whole sidecars start and end while a JVM logs without a pause. Most of them are killed in the middle of a step of
// the drain. The segments must have every event once, and markers for the events that the ring refused.
func TestEventsAreShippedOnceAcrossSidecars(t *testing.T) {
	source, dest := tmpfs(t), t.TempDir()
	w := newWriter(t, source, testName, 4*minCapacity)
	kept, refused := 0, uint64(0)
	log := func(until <-chan struct{}) {
		for {
			for range 50 {
				if w.event(kept, strings.Repeat("x", kept%150)) {
					kept++
				} else {
					refused++
				}
			}
			select {
			case <-until:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var last time.Duration
	for life := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		var before func(step, int, []byte, int64) error
		if life%3 > 0 {
			left := rng.IntN(200)
			before = func(s step, _ int, _ []byte, _ int64) error {
				if s == stepRead {
					return nil // the shipper also reads rings while it opens the source
				}
				if left--; left < 0 {
					panic(errKilled)
				}
				return nil
			}
		}
		time.AfterFunc(time.Duration(100+rng.IntN(200))*time.Millisecond, cancel)
		stopped := make(chan struct{})
		var logging sync.WaitGroup
		logging.Go(func() { log(stopped) })
		began := time.Now()
		shipped(ctx, t, source, dest, before)
		last = time.Since(began)
		close(stopped)
		logging.Wait()
	}
	w.kill()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	shipped(ctx, t, source, dest, nil)
	n, marked := shippedEvents(t, dest)
	if n != kept || marked != refused {
		t.Errorf("%d events, want %d; markers count %d refused events, want %d", n, kept, marked, refused)
	}
	t.Logf("%d events, %d refused, the last life took %s", kept, refused, last)
	if left := names(t, source); strings.Contains(left, "events-") {
		t.Errorf(`files are left in the source: %s, want no "events-" in it`, left)
	}
}

// shippedEvents returns how many events were persisted, and how many the markers count as refused. It fails the test
// unless the persisted events are numbered consecutively from 0.
func shippedEvents(t *testing.T, dest string) (n int, marked uint64) {
	t.Helper()
	var text bytes.Buffer
	segments, err := filepath.Glob(filepath.Join(dest, "events-7.log", "*.log"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("the segments are %q, error %v, want some", segments, err)
	}
	for _, path := range segments {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	for line := range strings.Lines(text.String()) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			marked += g.Total()
			continue
		}
		if _, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "][event] "); message != strings.TrimSuffix(fmt.Sprintf("%d %s", n, strings.Repeat("x", n%150)), " ") {
			t.Fatalf("line %d is %q, want %d with %d times x", n, line, n, n%150)
		}
		n++
	}
	return n, marked
}

// ended runs a sidecar that is stopped at once.
func (s *sidecar) ended() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	looked := false
	s.Run(ctx, func() { looked = true })
	if !looked {
		s.t.Error("Run has ended without letting the shipper look once more")
	}
}

func TestTailMayRemoveTheTextBehindACleanEnd(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "before")
	s.rounds(1)
	w.event(2, "at the end")
	s.ended()
	wantMessages(t, s, "1 before", "2 at the end")
	if err := os.Remove(filepath.Join(s.source, testName.text())); err != nil {
		t.Fatal(err)
	}
	w.event(3, "behind")
	s = newSidecar(t, s.source).start()
	s.rounds(1)
	wantMessages(t, s, "3 behind")
	wantErrors(t, s, "")
}

// Tail unlinks a text only if no process has it open for writing.
func TestTailKeepsTheTextOfAStepThatIsNotOver(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "before")
	s.rounds(1)
	path := filepath.Join(s.source, testName.text())
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s.calls.before = func(s step, _ int, _ []byte, _ int64) error {
		if s == stepAppend {
			return unix.ENOSPC
		}
		return nil
	}
	w.event(2, "not written")
	s.ended()
	if is, _ := unwritten(int(f.Fd())); is {
		t.Error("tail may remove the text, although the sidecar still has it open")
	}
	s.kept[0].close()
	if is, err := unwritten(int(f.Fd())); !is {
		t.Errorf("the text is still open for writing: %v", err)
	}
	s = newSidecar(t, s.source).start()
	s.rounds(1)
	wantMessages(t, s, "1 before", "2 not written")
	wantErrors(t, s, "")
}

func TestAnEndBeforeTheFirstJournal(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "first")
	s.calls.before = func(s step, _ int, _ []byte, _ int64) error {
		if s == stepJournal {
			return unix.ENOSPC
		}
		return nil
	}
	s.rounds(1)
	s.ended()
	wantErrors(t, s, "room=1")
	s = newSidecar(t, s.source).start()
	s.rounds(1)
	wantMessages(t, s, "1 first")
}

// Most sources have no ring.
func TestASourceWithoutRingsCostsNothing(t *testing.T) {
	s := newSidecar(t, t.TempDir()).start()
	if pause := s.round(s.now, false); pause < time.Hour {
		t.Errorf("the next look is due after %s, want at least 1 h", pause)
	}
	if all, err := s.reg.Gather(); err != nil || len(all) > 0 {
		t.Errorf("a source without rings has the metrics %v, error %v; want none and no error", all, err)
	}
	w := newWriter(t, s.source, testName, minCapacity)
	w.event(1, "first")
	s.round(time.Now().Add(time.Minute), false)
	if got := names(t, s.source); got != testName.ring() {
		t.Errorf("the ring has not been reported yet, but the source has %s, want only %s", got, testName.ring())
	}
	s.ask() // tail has found a ring
	s.round(time.Now().Add(time.Minute), false)
	wantMessages(t, s, "1 first")
	if all, err := s.reg.Gather(); err != nil || len(all) != 6 {
		t.Errorf("there are %d metrics, want 6; error %v", len(all), err)
	}
}
