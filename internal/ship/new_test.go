package ship

import (
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/ul"
)

// newSource is the empty tmpfs of the next pod, with the destination of before.
func (b *bench) newSource() {
	b.t.Helper()
	b.must(os.RemoveAll(b.cfg.Tail.Source))
	b.must(os.Mkdir(b.cfg.Tail.Source, 0o755))
}

// The log levels, or `ullage levels`, make the state directory as well, and a start
// can be killed when it has made it. The log begins as the last pod's ended.
func TestNewSourceIsNewWhoeverMadeTheStateDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		made func(b *bench)
	}{
		{"nobody", func(*bench) {}},
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
				t.Errorf("persisted %q, want 3 lines", got)
			}
		})
	}
}

// Guarantee 1 holds from the first moment: a silent destination does not keep a
// new source from dropping, whichever program made the state directory.
func TestLinesOfANewSourceCanBeDropped(t *testing.T) {
	b := newBench(t)
	b.small()
	b.must(os.Mkdir(b.path(statedir.Name), 0o700))
	b.write(b.log("gc.log"), debugLines(0, 20000))
	s, from := b.begun(false)
	if freed := s.drops(ul.Discard, 256<<10); from.lost || freed == 0 {
		t.Errorf("lost: %t, %d bytes were given back", from.lost, freed)
	}
}

// The application takes the state directory away while no sidecar runs. Then
// nothing tells the source from a new one, and what is left in its files is
// persisted again: of each file that may be punched less than two pages.
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
		t.Errorf("%d bytes are persisted of %d", len(got), len(lines(0, 5001)))
	}
}
