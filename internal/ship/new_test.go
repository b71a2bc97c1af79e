package ship

import (
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/ul"
)

// newSource makes the empty tmpfs of the next pod, which uses the same destination.
func (b *bench) newSource() {
	b.t.Helper()
	b.must(os.RemoveAll(b.cfg.Tail.Source))
	b.must(os.Mkdir(b.cfg.Tail.Source, 0o755))
}

// The sidecar's log levels and `ullage levels` also create the state directory, and a start can
// be killed just after it created the directory. The new log begins with the last line of the
// old one.
func TestNewSourceIsNewWhoeverMadeTheStateDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		made func(b *bench)
	}{
		{"no other program", func(*bench) {}},
		{"the log levels", func(b *bench) {
			b.must(os.Mkdir(b.path(statedir.Name), 0o700))
			writeFile(b.t, b.path(statedir.Name+"/levels.lock"), nil)
		}},
		{"a start without the destination", func(b *bench) {
			s, _ := b.begun(false)
			s.killed()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.appendTo("gc.log", "[0.004s][info][gc] Using Serial\n")
			b.ships("Using Serial")
			b.newSource()
			c.made(b)
			b.appendTo("gc.log", "[0.004s][info][gc] Using Serial\n[0.100s][info][gc] second\n")
			b.ships("second")
			if got := b.persisted("gc.log"); strings.Count(got, "\n") != 3 {
				t.Errorf("the persisted lines are %q, want 3", got)
			}
		})
	}
}

// Guarantee 1 holds from the first moment: lines of a new source can be dropped even if the
// destination is silent and another program has created the state directory.
func TestLinesOfANewSourceCanBeDropped(t *testing.T) {
	b := newBench(t)
	b.small()
	b.must(os.Mkdir(b.path(statedir.Name), 0o700))
	b.write(b.log("gc.log"), debugLines(0, 20000))
	s, from := b.begun(false)
	if freed := s.drops(ul.Discard, 256<<10); from.lost || freed == 0 {
		t.Errorf("the checkpoint is lost: %t, want false; %d bytes were freed, want more than 0", from.lost, freed)
	}
}

// The application removes the state directory while no sidecar runs. The source then looks
// like a new one, and the remaining content of its files is persisted again: less than two
// pages of each file that may be punched.
func TestStateDirectoryIsTakenAwayWhileNobodyIsThere(t *testing.T) {
	b := newBench(t)
	w := b.log("gc.log")
	b.write(w, lines(0, 5000))
	b.ships("line 4999\n")
	b.must(os.RemoveAll(b.path(statedir.Name)))
	b.write(w, lines(5000, 5001))
	b.ships("line 5000\n")
	got := b.persisted("gc.log")
	if !strings.HasPrefix(got, lines(0, 5000)) || len(got) > len(lines(0, 5001))+2*os.Getpagesize() {
		t.Errorf("%d bytes were persisted; want the first 5000 lines, and at most %d bytes", len(got), len(lines(0, 5001))+2*os.Getpagesize())
	}
}
