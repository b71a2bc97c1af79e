package ship

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/tail"
)

// A checkpoint was lost. The sidecar has read the last bytes of the segments and is killed
// before it has found these bytes in the source.
func TestKilledBeforeTheSourceIsAligned(t *testing.T) {
	b := newBench(t)
	b.small()
	w := b.log("gc.log")
	b.write(w, lines(0, 500))
	b.ships("line 499\n")
	b.loseCheckpoint()
	b.write(w, debugLines(500, 20000))
	s, from := b.begun(true)
	s.reader.round()
	for _, name := range (&placing{s.writer, from}).unplaced() {
		if err := (&placing{s.writer, from}).placeStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	s.drops(ul.Discard, 512<<10)
	if err := s.writer.saveCheckpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.killed()
	b.ships("line 19999 ")
	b.onceEach()
}

// A checkpoint was lost. One stream's directory cannot be opened for a while, so that
// reading goes far past the place where persisting ended.
func TestNothingIsDroppedBeforeTheSourceIsAligned(t *testing.T) {
	for _, slow := range []bool{false, true} {
		b := newBench(t)
		b.cfg.Tail.Reclaim = tail.ReclaimNone // persisted lines stay in the source
		w := b.log("gc.log")
		b.write(w, debugLines(0, 20000))
		b.ships("line 19999 ")
		b.loseCheckpoint()
		b.cfg.Tail.Reclaim = tail.ReclaimAuto
		b.small()
		bad := filepath.Join(b.cfg.Dest, "other.log")
		if slow {
			b.appendTo("other.log", "x\n")
			writeFile(t, bad, nil)
		}
		b.start()
		for i := range 30 {
			b.write(w, debugLines(20000+i*100, 20100+i*100))
			time.Sleep(20 * time.Millisecond)
		}
		os.Remove(bad)
		b.eventually("the sidecar is ready, and there is no backlog", func() bool { return b.ship.Ready() == nil && statusOf(b.ship).BacklogBytes == 0 })
		b.write(w, lines(23000, 23001))
		b.eventually("the last line is persisted", func() bool { return strings.Contains(b.persisted("gc.log"), "line 23000\n") })
		b.drain()
		b.onceEach()
	}
}

// A log is truncated, and a sidecar drops lines of it while the destination is silent. Then
// the sidecar is killed.
func TestGapsOfATruncatedLogSurviveASilentStart(t *testing.T) {
	for _, when := range []string{"never", "while down", "in the silence"} {
		t.Run(when, func(t *testing.T) {
			b := newBench(t)
			b.small()
			w := b.log("gc.log")
			b.write(w, lines(0, 500))
			b.ships("line 499\n")
			again := func() {
				if err := w.Truncate(0); err != nil {
					t.Fatal(err)
				}
				b.write(w, debugLines(0, 20000))
			}
			if when == "while down" {
				again()
			}
			s, _ := b.begun(false)
			switch when {
			case "in the silence":
				again()
			case "never":
				b.write(w, debugLines(0, 20000))
			}
			s.src.Tick()
			freed := int64(0)
			for range 10 {
				s.reader.round()
				freed += s.drops(ul.Discard, 256<<10)
			}
			if freed == 0 {
				t.Fatal("nothing was dropped")
			}
			b.write(w, debugLines(20000, 20001))
			s.killed()
			b.ships("line 20000 ")
			if marked, persisted := b.sum(); marked+persisted != 20501 {
				t.Errorf("%d lines were persisted and %d counted by markers, want 20501", persisted, marked)
			}
		})
	}
}

// The application puts old slots of its sidecar back and deletes the log.
func TestReplayedCheckpointWithoutItsFileCutsNothing(t *testing.T) {
	b := newBench(t)
	b.appendTo("gc.log", lines(0, 100))
	b.ships("line 99\n")
	old := copyTree(t, b.path(statedir.Name))
	b.appendTo("gc.log", lines(100, 100000))
	b.ships("line 99999\n")
	replaceTree(t, old, b.path(statedir.Name))
	os.Remove(b.path("gc.log"))
	b.start()
	b.eventually("the sidecar is ready", func() bool { return b.ship.Ready() == nil })
	b.drain()
	if n := strings.Count(b.persisted("gc.log"), "\n"); n != 100000 {
		t.Errorf("%d durable lines are left, want 100000", n)
	}
}

// The drained sidecar has unlinked the finished log. The next JVM begins with the same lines.
func TestSameLinesAfterARestartAreOthers(t *testing.T) {
	for _, text := range []string{"[0.005s][info][gc] Using G1\n", strings.Repeat("[info][app] tick\n", 400)} {
		for _, fresh := range []bool{false, true} {
			b := newBench(t)
			b.appendTo("gc.log", text)
			b.start()
			b.drain()
			if fresh { // a pod with a persistent destination and a new tmpfs
				if err := os.RemoveAll(b.cfg.Tail.Source); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(b.cfg.Tail.Source, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			b.appendTo("gc.log", text)
			b.start()
			b.drain()
			if got := b.persisted("gc.log"); got != text+text {
				t.Errorf("fresh source %t: %d lines were persisted, want %d, the text twice", fresh, strings.Count(got, "\n"), 2*strings.Count(text, "\n"))
			}
		}
	}
}

// The sidecar is killed after it has appended many lines and markers without committing
// them. The JVM deletes an archive that was persisted.
func TestKilledBehindAMarkerAndAnArchiveIsGone(t *testing.T) {
	for _, gone := range []bool{false, true} {
		b := newBench(t)
		b.small()
		b.appendTo("gc.log.0", lines(0, 100))
		b.appendTo("gc.log", lines(100, 101))
		archive, w := b.log("gc.log.0"), b.log("gc.log")
		b.ships("line 100\n")
		s, from := b.begun(true)
		s.begins(t, from)
		b.write(w, debugLines(101, 12000))
		s.src.Tick()
		for range 8 {
			s.reader.round()
			s.drops(ul.Discard, 64<<10)
			s.appends(t)
		}
		if s.writer.taken.bytes == 0 {
			t.Fatal("the writer has no uncommitted bytes, want some")
		}
		s.killed()
		archive.Close()
		if gone {
			os.Remove(b.path("gc.log.0"))
		}
		b.write(w, debugLines(12000, 12001))
		b.ships("line 12000 ")
		marked, persisted := b.sum()
		if marked+persisted != 12001 {
			t.Errorf("archive gone: %t: %d lines were persisted and %d counted by markers, want 12001", gone, persisted, marked)
		}
	}
}

// A sidecar whose JVM had written nothing restarts while the destination is silent. No
// checkpoint was lost, so lines can be dropped.
func TestNothingWasLostOfASourceThatHadNothing(t *testing.T) {
	b := newBench(t)
	b.small()
	b.start()
	b.eventually("the sidecar is ready", func() bool { return b.ship.Ready() == nil })
	b.drain()
	b.write(b.log("gc.log"), debugLines(0, 20000))
	s, from := b.begun(false)
	s.src.Tick()
	s.reader.round()
	if freed := s.drops(ul.Discard, 256<<10); from.lost || freed == 0 {
		t.Errorf("the checkpoint is lost: %t, want false; %d bytes were freed, want more than 0", from.lost, freed)
	}
}

// A checkpoint was lost, and two consecutive sidecars get no answer from the destination.
// Both know that the lines in the source may already be persisted.
func TestALostCheckpointIsNotForgotten(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = tail.ReclaimNone
	w := b.log("gc.log")
	b.write(w, debugLines(0, 10000))
	b.ships("line 9999 ")
	b.cfg.Tail.Reclaim = tail.ReclaimAuto
	b.small()
	b.loseCheckpoint()
	for range 2 {
		s, from := b.begun(false)
		if !from.lost {
			t.Error("the checkpoint is not treated as lost")
		}
		b.appendTo("other.log", debugLines(0, 20000))
		s.src.Tick()
		for range 10 {
			s.reader.round()
			s.drops(ul.Discard, 256<<10)
		}
		s.killed()
	}
	b.write(w, lines(10000, 10001))
	b.ships("line 10000\n")
	if marked, persisted := b.sum(); marked+persisted != 10001 {
		t.Errorf("%d lines were persisted and %d counted by markers, want 10001", persisted, marked)
	}
}

// The destination is replaced after it was opened and before any stream is placed.
func TestDestinationThatIsReplacedWhileItBegins(t *testing.T) {
	b := newBench(t)
	b.write(b.log("gc.log"), lines(0, 10))
	b.ships("line 9\n")
	b.appendTo("gc.log", lines(10, 20))
	s, from := b.begun(true)
	if err := s.store.Load().Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(b.cfg.Dest, b.cfg.Dest+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.cfg.Dest, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (&placing{s.writer, from}).placeStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.killed()
	b.ships("line 19\n")
}
