package ship

import (
	"fmt"
	"os"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// The tmpfs had no room left for a checkpoint. The sidecar was killed after it had persisted
// the marker of a gap and nothing after it. The dropped lines are counted. Parts of them
// that are left in the pages of the log must not be persisted as well.
func TestCheckpointIsLostBehindAMarker(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // lines in the log that are persisted before the gap
		rotate bool
	}{
		{"in the log", 40, false},
		{"after much of the log", 4000, false},
		{"at the beginning of the log", 0, false},
		{"at the beginning of a newer file", 40, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.small()
			end := c.before + 8000 // more than a stream's share
			w := b.log("gc.log")
			s, from := b.begun(true)
			s.begins(t, from)
			b.write(w, lines(0, c.before))
			b.reads(s)
			b.commits(s)
			if c.rotate {
				b.must(os.Rename(b.path("gc.log"), b.path("gc.log.0")))
				w = b.log("gc.log")
			}
			b.write(w, debugLines(c.before, end))
			b.eventually("something is dropped", func() bool {
				s.src.Tick()
				_, err := s.src.Scanner.Scan()
				b.must(err)
				return s.drops(ul.Discard, 256<<10) > 0
			})
			for marked := false; !marked; {
				area := s.link.queue.Reserve(s.src.Reader.Area())
				n, chunk, ok := s.src.Reader.Next(area)
				if !ok {
					t.Fatal("there is no marker")
				}
				s.link.queue.Push(n, chunk)
				marked = chunk.Made > 0
			}
			s.appends(t)
			b.commits(s)
			s.killed()
			b.loseCheckpoint()
			b.write(w, lines(end, end+1))
			b.ships(fmt.Sprintf("line %d\n", end))
			marked, persisted := b.sum()
			if marked == 0 || marked+persisted != end+1 {
				t.Errorf("%d lines persisted, %d counted by markers, %d in all, want %d", persisted, marked, marked+persisted, end+1)
			}
			b.onceEach()
		})
	}
}
