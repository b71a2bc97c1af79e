package ship

import (
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// leavesUncommitted runs a sidecar that commits the lines in [0, from), appends the lines in
// [from, to), and is killed before it commits the latter.
func (b *bench) leavesUncommitted(w *os.File, from, to int) {
	b.t.Helper()
	s, start := b.begun(true)
	s.begins(b.t, start)
	b.write(w, lines(0, from))
	b.reads(s)
	b.commits(s)
	b.write(w, lines(from, to))
	b.reads(s)
	s.killed()
}

// reads scans the source and appends the new lines in it.
func (b *bench) reads(s *Shipper) {
	b.t.Helper()
	b.eventually("the source is scanned", func() bool {
		s.src.Tick()
		s.reader.round()
		return !s.src.Scanner.Stale()
	})
	s.appends(b.t)
}

func (b *bench) commits(s *Shipper) {
	b.t.Helper()
	if err := s.writer.commit(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	s.reader.settle()
}

func (b *bench) persistsOnce(stream, want string) {
	b.t.Helper()
	if got := b.persisted(stream); got != want {
		seen, twice := map[string]bool{}, 0
		for line := range strings.Lines(got) {
			if seen[line] {
				twice++
			}
			seen[line] = true
		}
		b.t.Errorf("%s: %d lines were persisted, %d of them for the second time, want %d", stream, strings.Count(got, "\n"), twice, strings.Count(want, "\n"))
	}
}

// hidings are ways to hide an existing file at a start.
var hidings = []struct {
	name         string
	hide, reveal func(b *bench) error
}{
	{"it has a second name",
		func(b *bench) error { return os.Link(b.path("gc.log"), b.path("backup.tmp")) },
		func(b *bench) error { return os.Remove(b.path("backup.tmp")) }},
	{"its name does not match",
		func(b *bench) error { return os.Rename(b.path("gc.log"), b.path("gc.tmp")) },
		func(b *bench) error { return os.Rename(b.path("gc.tmp"), b.path("gc.log.0")) }},
	{"its name is odd",
		func(b *bench) error { return os.Rename(b.path("gc.log"), b.path("\x01.log")) },
		func(b *bench) error { return os.Rename(b.path("\x01.log"), b.path("gc.log.0")) }},
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// The sidecar is killed between append and sync. The next sidecar is ready before it
// finds the file.
func TestFileThatAStartDoesNotFindIsPersistedOnce(t *testing.T) {
	for _, h := range hidings {
		t.Run(h.name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Segment.Compress = segment.None
			w := b.log("gc.log")
			b.leavesUncommitted(w, 100, 200)
			b.must(h.hide(b))
			b.start()
			b.eventually("the sidecar is ready", func() bool { return b.ship.Ready() == nil })
			b.must(h.reveal(b))
			b.write(w, lines(200, 300))
			b.eventually("the last line is persisted", func() bool { return strings.Contains(b.persisted("gc.log"), "line 299\n") })
			b.drain()
			b.persistsOnce("gc.log", lines(0, 300))
		})
	}
}

// Everything is committed. One start does not find the file, commits lines of another file,
// and is killed. The next start must still know the position.
func TestPositionOfAFileThatAStartDoesNotFindIsKept(t *testing.T) {
	for _, h := range hidings {
		t.Run(h.name, func(t *testing.T) {
			b := newBench(t)
			w := b.log("gc.log")
			b.leavesUncommitted(w, 50, 50)
			b.must(h.hide(b))
			s, from := b.begun(true)
			s.begins(t, from)
			b.appendTo("other.log", lines(0, 10))
			b.reads(s)
			b.commits(s)
			s.killed()
			b.must(h.reveal(b))
			b.start()
			b.write(w, lines(50, 51))
			b.eventually("the last line is persisted", func() bool { return strings.Contains(b.persisted("gc.log"), "line 50\n") })
			b.drain()
			b.persistsOnce("gc.log", lines(0, 51))
		})
	}
}

// A file is hidden while the sidecar runs, until the sidecar has closed it.
func TestPositionOfAFileThatWasLetGoOfIsKept(t *testing.T) {
	b := newBench(t)
	w := b.log("gc.log")
	s, from := b.begun(true)
	s.begins(t, from)
	b.write(w, lines(0, 50))
	b.reads(s)
	b.commits(s)
	w.Close()
	b.must(os.Rename(b.path("gc.log"), b.path("gc.tmp")))
	b.eventually("the file is closed", func() bool {
		b.reads(s)
		s.reader.settle()
		return len(s.src.Start.Found().Streams) == 0
	})
	b.reads(s)
	s.reader.settle()
	b.appendTo("other.log", lines(0, 10))
	b.reads(s)
	b.commits(s)
	s.killed()
	b.must(os.Rename(b.path("gc.tmp"), b.path("gc.log.0")))
	b.appendTo("gc.log", lines(50, 51))
	b.ships("line 50\n")
	b.persistsOnce("gc.log", lines(0, 51))
}

// The position of a deleted file is removed from the checkpoint. Uncommitted lines of the file
// stay in the segment, because they cannot be read again.
func TestFileThatIsGoneIsForgotten(t *testing.T) {
	b := newBench(t)
	b.leavesUncommitted(b.log("gc.log"), 100, 200)
	b.must(os.Remove(b.path("gc.log")))
	s, from := b.begun(true)
	s.begins(t, from)
	s.reader.settle()
	s.link.news.take().apply(s.check, s.detail)
	if known := s.check.Files(); len(known) > 0 {
		t.Errorf("the checkpoint knows the files %v, want none", known)
	}
	b.persistsOnce("gc.log", lines(0, 200))
}

// A file gets the name of another stream before anything in it is committed.
func TestFileThatIsRenamedToAnotherStreamBeforeItsFirstCommit(t *testing.T) {
	for _, committed := range []int{0, 100} {
		b := newBench(t)
		w := b.log("gc.log")
		if committed > 0 { // in another file of the stream
			b.leavesUncommitted(w, committed, committed)
			b.must(os.Remove(b.path("gc.log")))
			w = b.log("gc.log")
		}
		s, from := b.begun(true)
		s.begins(t, from)
		b.write(w, lines(committed, 200))
		b.reads(s)
		s.killed()
		b.must(os.Rename(b.path("gc.log"), b.path("old.log")))
		b.write(w, lines(200, 201))
		b.ships("line 200\n")
		b.persistsOnce("gc.log", lines(0, 201))
		b.persistsOnce("old.log", "")
	}
}

// The log is copied and truncated while the sidecar is down.
func TestCopiedAndTruncatedWhileNobodyWasThere(t *testing.T) {
	b := newBench(t)
	w := b.log("gc.log")
	b.write(w, lines(0, 50))
	b.ships("line 49\n")
	b.write(w, lines(50, 60))
	text, err := os.ReadFile(b.path("gc.log"))
	b.must(err)
	b.appendTo("gc.log.1", string(text))
	b.must(w.Truncate(0))
	b.write(w, lines(60, 80))
	b.start()
	b.eventually("the last line of both logs is persisted", func() bool {
		got := b.persisted("gc.log")
		return strings.Contains(got, "line 59\n") && strings.Contains(got, "line 79\n")
	})
	b.drain()
	if got := b.persisted("gc.log"); strings.Count(got, "\n") != 80 {
		t.Errorf("%d lines were persisted, want 80", strings.Count(got, "\n"))
	}
	b.onceEach()
}
