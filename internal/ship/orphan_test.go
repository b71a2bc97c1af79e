package ship

import (
	"os"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// Lines are dropped, the JVM ends, its log is truncated to nothing, and the sidecar is
// killed once the marker of these lines is durable. The marker must not be written again,
// although the position at the beginning of the file does not by itself show that the marker
// was written.
func TestGapOfAnEmptyFileIsToldOnce(t *testing.T) {
	for _, saved := range []bool{false, true} { // whether the checkpoint is saved again after the commit
		b := newBench(t)
		b.small()
		w := b.log("gc.log")
		b.write(w, debugLines(0, 8000))
		s, from := b.begun(true)
		s.begins(t, from)
		s.reader.round()
		for s.drops(ul.DropAll, 1<<20) > 0 {
		}
		s.appends(t)
		s.commits(t)
		s.reader.settle()
		w.Close()
		if err := os.Truncate(b.path("gc.log"), 0); err != nil {
			t.Fatal(err)
		}
		s.src.Drain()
		b.eventually("the marker is handed on", func() bool {
			s.src.Tick()
			s.reader.round()
			s.appends(t)
			return s.writer.taken.bytes > 0
		})
		s.commits(t)
		if saved {
			s.reader.settle()
			if err := s.writer.saveCheckpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := b.sum()
		s.killed()
		b.start()
		b.eventually("the sidecar is ready", func() bool { return b.ship.Ready() == nil })
		b.drain()
		if after, _ := b.sum(); before == 0 || after != before {
			t.Errorf("checkpoint saved again %t: markers count %d lines before the kill and %d after it, want the same, above 0", saved, before, after)
		}
	}
}
