package ship

import (
	"os"
	"testing"
)

// Lines are dropped, the JVM ends, its log is truncated to nothing, and the
// sidecar is killed once the marker of these lines is durable: it is not written
// again. The marker's chunk ends at the beginning of the file, so that the
// position alone does not tell.
func TestGapOfAnEmptyFileIsToldOnce(t *testing.T) {
	for _, saved := range []bool{false, true} { // the checkpoint, after the commit
		b := newBench(t)
		b.small()
		w := b.log("gc.log")
		b.write(w, debugLines(0, 8000))
		s, from := b.begun(true)
		s.begins(t, from)
		s.reader.round()
		s.reader.press.discarding, s.reader.press.dropping = true, true
		for s.reader.drop(1<<20, s.reader.measure()) > 1 {
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
			return s.writer.pending > 0
		})
		s.src.ChangedGaps(s.ledger.setGaps) // as the reader does when it drops
		s.commits(t)
		if saved {
			s.link.takePublished(s.src.Committed)
			s.src.ChangedGaps(s.ledger.setGaps)
			if err := s.check.save(s.ledger.state); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := b.sum()
		s.killed()
		b.start()
		b.eventually("it is ready", func() bool { return b.ship.Ready() == nil })
		b.drain()
		if after, _ := b.sum(); before == 0 || after != before {
			t.Errorf("checkpoint saved again %t: markers tell of %d lines, and of %d after a kill", saved, before, after)
		}
	}
}

func (s *Shipper) commits(t *testing.T) {
	t.Helper()
	if err := s.writer.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}
