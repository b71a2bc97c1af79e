package ship

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/tail"
)

// After an error of the destination, everything uncommitted is read again. Each line is
// withheld only once, and saved only once.
func TestFailuresOfTheDestinationRepeatNoWithheldLine(t *testing.T) {
	b := withholding(t)
	b.cfg.Segment.Compress = segment.None
	b.start()
	if _, err := b.ship.Save(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for round := range 12 {
		more := mixed(round*100, round*100+100)
		text.WriteString(more)
		b.appendTo("gc.log", more)
		b.appendTo("broken.log", lines(round*100, round*100+100))
		_, withheld := apart(text.String())
		b.eventually("the round's lines are persisted and saved", func() bool {
			return b.persisted(detailStream) == withheld && strings.Contains(b.persisted("broken.log"), lines(round*100+99, round*100+100))
		})
		removeNewest(t, filepath.Join(b.cfg.Dest, "broken.log"))
	}
	b.drain()
	_, withheld := apart(text.String())
	holdsTo(b, text.String(), withheld)
}

// The segments have only some of the lines of the source. So the place in the source where
// persisting ended is found by the last persisted line alone.
func TestALostCheckpointRepeatsNoPersistedLine(t *testing.T) {
	b := withholding(t)
	b.cfg.Tail.Reclaim = tail.ReclaimNone
	b.appendTo("gc.log", mixed(0, 500))
	b.start()
	b.drain()
	b.loseCheckpoint()
	b.appendTo("gc.log", mixed(500, 700))
	b.start()
	b.drain()
	if persisted, _ := apart(mixed(0, 700)); b.persisted("gc.log") != persisted {
		t.Errorf("persisted %d bytes, want %d", len(b.persisted("gc.log")), len(persisted))
	}
}

// A destination that cannot accept saved lines still accepts all other lines.
func TestSavedLinesThatAreRefused(t *testing.T) {
	b := withholding(t)
	text := mixed(0, 500)
	b.appendTo("gc.log", text)
	writeFile(t, filepath.Join(b.cfg.Dest, detailStream), nil)
	b.start()
	if _, err := b.ship.Save(); err != nil {
		t.Fatal(err)
	}
	b.eventually("the stream of saved lines is refused", func() bool { return b.ship.Ready() != nil })
	b.appendTo("gc.log", mixed(500, 600))
	persisted, _ := apart(text + mixed(500, 600))
	b.eventually("the other lines are persisted", func() bool { return b.persisted("gc.log") == persisted })
	if err := os.Remove(filepath.Join(b.cfg.Dest, detailStream)); err != nil {
		t.Fatal(err)
	}
	b.drain()
	holdsTo(b, text+mixed(500, 600), b.persisted(detailStream))
}

// Under pressure, held lines give way to lines that are not withheld.
func TestPressureGivesUpWhatIsHeld(t *testing.T) {
	b := withholding(t)
	b.start()
	b.appendTo("gc.log", mixed(0, 5000))
	b.eventually("lines are held", func() bool { return b.ship.detail.held.Stats().Bytes > 0 })
	b.drain()
	s, from := b.begun(true)
	s.begins(t, from)
	if s.detail.held.Stats().Bytes == 0 {
		t.Fatal("after a restart, no lines are held")
	}
	press := s.reader.press
	press.marks.take(0.5)
	press.yield(usage{used: 0.5})
	if s.detail.held.Stats().Bytes == 0 {
		t.Error("the held lines were given up too early")
	}
	press.marks.take(0.61)
	press.yield(usage{used: 0.61})
	if n := s.detail.held.Stats().Bytes; n != 0 {
		t.Errorf("%d bytes are still held, want 0", n)
	}
	s.killed()
	b.start()
	if _, err := b.ship.Save(); err != nil {
		t.Fatal(err)
	}
	b.appendTo("gc.log", mixed(5000, 5100))
	_, later := apart(mixed(5000, 5100))
	b.eventually("the next lines are saved", func() bool { return strings.HasSuffix(b.persisted(detailStream), later) })
	b.drain()
	holdsTo(b, mixed(0, 5100), later)
}

// Lines are withheld even if the tmpfs has no room to hold them.
func TestAFullTmpfsHoldsNothing(t *testing.T) {
	b := withholding(t)
	s, from := b.begun(true)
	s.begins(t, from)
	s.detail.held.SetLimit(10)
	b.appendTo("gc.log", mixed(0, 1000))
	run{b, s}.reads()
	s.appends(t)
	s.commits(t)
	if unheld, held := testutil.ToFloat64(s.metrics.unheld), s.detail.held.Stats().Bytes; unheld == 0 || held > 0 {
		t.Errorf("%v lines were not held for lack of room, and %d bytes are held; want more than 0 lines, and 0 bytes", unheld, held)
	}
	s.killed()
	b.start()
	b.drain()
	holdsTo(b, mixed(0, 1000), "")
}

// After a restart, a trigger that arrives before the writer has begun continues the save
// that was in progress.
func TestARestartKnowsThatLinesAreBeingSaved(t *testing.T) {
	b := withholding(t)
	s, from := b.begun(true)
	s.begins(t, from)
	b.appendTo("gc.log", mixed(0, 1000))
	run{b, s}.reads()
	s.appends(t)
	s.commits(t)
	first, err := s.Save()
	if err != nil || !first.Began {
		t.Fatalf("the first save is %+v, error %v, want Began true", first, err)
	}
	s.writer.detail.begin()
	if err := s.writer.saveCheckpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.killed()
	s, from = b.begun(true)
	if again, err := s.Save(); err != nil || again.Began || again.From != first.From || again.Bytes != first.Bytes {
		t.Errorf("the save after the kill is %+v, error %v; want the save from before the kill, %+v", again, err, first)
	}
	s.begins(t, from)
	s.saveDetails(t)
	s.commits(t)
	s.killed()
	_, withheld := apart(mixed(0, 1000))
	holdsTo(b, mixed(0, 1000), withheld)
}

// A sidecar that no longer withholds anything removes the held lines from the tmpfs.
func TestWhatIsHeldGoesWithTheSetting(t *testing.T) {
	b := withholding(t)
	b.appendTo("gc.log", mixed(0, 500))
	b.start()
	b.drain()
	path := b.path(statedir.Name + "/hindsight")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	b.cfg.PersistLevel = ul.Trace
	b.appendTo("gc.log", mixed(500, 600))
	b.start()
	b.drain()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file of held lines is still there: %v", err)
	}
	if got := b.persisted("gc.log"); !strings.HasSuffix(got, mixed(500, 600)) {
		t.Error("not all later lines are persisted")
	}
	b.cfg.PersistLevel = ul.Info
	b.appendTo("gc.log", mixed(600, 700))
	b.start()
	if _, err := b.ship.Save(); err != nil {
		t.Fatal(err)
	}
	b.drain()
	_, before := apart(mixed(0, 500))
	_, later := apart(mixed(600, 700))
	if got := counted(b)[ul.Debug]; b.persisted(detailStream) != later || got != uint64(strings.Count(before+later, "\n")) {
		t.Errorf("%d lines are counted as withheld, want %d; the lines %q are saved, want %q", got, strings.Count(before+later, "\n"), b.persisted(detailStream), later)
	}
}
