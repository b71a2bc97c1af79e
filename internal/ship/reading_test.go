package ship

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// A change of the annotations causes several events, and other events may wait before them. The reader must not take a
// turn for each event.
func TestTheEventsThatWaitAreHandledInFewTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as a sidecar while its source is calm
	const changes = 30
	b, handled, turns := newBench(t), 0, 0
	b.cfg.Tail.Watched = t.TempDir()
	b.to.Source.Watched = func() { handled++ }
	s, _ := b.begun(true)
	for i := range changes {
		if err := os.Mkdir(filepath.Join(b.cfg.Tail.Watched, strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for before := 0; handled < changes; before = handled {
		if s.reader.takeWaiting(); handled > before {
			turns++
		}
		runtime.Gosched()
	}
	if turns > changes/3 {
		t.Errorf("%d events took %d turns, want at most %d", changes, turns, changes/3)
	}
}

func TestWritesMakeEventsOnlyWhileFewLinesFlow(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name           string
		quiet          time.Duration // since the last round that read something
		second         int           // bytes that were read between the last two ticks
		read           int           // bytes that the last round read
		full           bool          // the queue has no room
		was, suspended bool
	}{
		{"a line from time to time", calmPace, 1000, 100, false, false, false},
		{"lines flow steadily", calmPace, steadyBytes, 100, false, false, true},
		{"a burst", calmPace, 0, hurryBytes, false, false, true},
		{"a gap in a burst", calmPace, 0, 0, false, true, true},
		{"the end of a burst", eventPace, 0, 0, false, true, false},
		{"a gap in a steady flow", eventPace, steadyBytes, 0, false, true, true},
		{"the end of a steady flow", eventPace, 0, 0, false, true, false},
		{"the destination stalls", time.Hour, 0, 0, true, false, true},
	} {
		s, _ := newBench(t).begun(true)
		r := s.reader
		if c.was {
			r.src.Watcher.Suspend()
		}
		r.load.flow.see(c.second, now)
		r.load.flow.tick()
		r.load.flow.last, r.read, r.full = now.Add(-c.quiet), c.read, c.full
		if r.attend(now); r.src.Watcher.Suspended() != c.suspended {
			t.Errorf("%s: the watch is suspended: %v, want %v", c.name, !c.suspended, c.suspended)
		}
	}
}

// While there is a backlog, the reader neither waits nor receives events. So the reader looks for the rotations of JVMs
// by itself.
func TestARotationIsSeenDuringABacklog(t *testing.T) {
	for name, change := range map[string]func(*reader){
		"there is more to read":  func(r *reader) { r.more = true },
		"the queue has no room":  func(r *reader) { r.full = true },
		"the watch is suspended": func(r *reader) { r.more = true; r.src.Watcher.Suspend() },
	} {
		b := newBench(t)
		s, _ := b.begun(true)
		r, now := s.reader, time.Now()
		r.round()
		r.load.flow.see(hurryBytes, now)
		r.read = hurryBytes
		b.log("new.log")
		change(r)
		if r.attend(now); !r.src.Watcher.Suspended() || !r.src.Scanner.Stale() {
			t.Errorf("%s: suspended: %v, a scan is due: %v, want both", name, r.src.Watcher.Suspended(), r.src.Scanner.Stale())
		}
	}
}
