package ship

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// muchAppended returns a Shipper that has committed a little and has since appended
// megabytes. It also returns the Shipper's mark.
func muchAppended(b *bench) (*Shipper, segment.Mark) {
	b.t.Helper()
	w := b.log("gc.log")
	b.write(w, lines(0, 10))
	s, from := b.begun(true)
	s.begins(b.t, from)
	s.reader.round()
	s.appends(b.t)
	if err := s.writer.commit(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.write(w, lines(10, 200_000))
	s.src.Tick()
	for range 12 {
		s.reader.round()
		for s.link.queue.Bytes() > 0 && !s.writer.taken.full(s.link.frame(), s.writer.bounds) {
			if err := s.writer.appendBatch(b.t.Context()); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	mark, _ := s.check.Mark("gc.log")
	if pending := s.writer.taken.bytes; pending < 6<<20 {
		b.t.Fatalf("%d bytes are pending, want at least 6 MiB for this test", pending)
	}
	return s, mark
}

// reopens runs the writer's reopen while the reader answers its rewind requests.
func (s *Shipper) reopens(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for {
			select {
			case request := <-s.link.rewind:
				s.reader.rewind(request)
				close(request.done)
			case <-ctx.Done():
				return
			}
		}
	}()
	err := s.writer.reopen(ctx)
	cancel()
	<-answered
	if err != nil {
		t.Fatal(err)
	}
}

// The application fills the tmpfs, which shrinks the budget, while many bytes are appended but
// not committed. Then the sync fails. The bytes that were not synced must still be cut off, or
// the next sync would make them appear durable.
func TestFailedSyncAfterTheBudgetShrank(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.Compress, b.cfg.Queue = segment.None, 8*settings.Mi
	s, committed := muchAppended(b)
	s.reader.budget.adapt(minBudget, 0)
	s.writer.destinationFailed(fmt.Errorf("sync segment: %w", unix.EIO), 0)
	s.reopens(t)
	if now, _ := s.check.Mark("gc.log"); now != committed {
		t.Errorf("the mark is %+v, want %+v, the mark before the failed sync", now, committed)
	}
	if size := newestSize(t, b, "gc.log"); size != committed.Offset {
		t.Errorf("the segment has %d bytes, want the %d that were committed", size, committed.Offset)
	}
}

// A sidecar is killed with many bytes appended but not committed. It starts again with
// settings that would not allow that many.
func TestRestartWithSmallerCommits(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.Compress, b.cfg.Queue = segment.None, 8*settings.Mi
	s, committed := muchAppended(b)
	s.killed()
	b.cfg.Queue, b.cfg.SyncBytes = 256*settings.Ki, 64*settings.Ki
	s, from := b.begun(true)
	s.begins(t, from)
	if now, _ := s.check.Mark("gc.log"); now != committed {
		t.Errorf("the mark is %+v, want %+v, the mark before the kill", now, committed)
	}
	if size := newestSize(t, b, "gc.log"); size != committed.Offset {
		t.Errorf("the segment has %d bytes, want the %d that were committed", size, committed.Offset)
	}
	s.killed()
	b.ships("line 199999\n")
	b.onceEach()
}

func newestSize(t *testing.T, b *bench, stream string) int64 {
	t.Helper()
	infos, err := segment.List(b.cfg.Dest + "/" + stream)
	if err != nil || len(infos) == 0 {
		t.Fatalf("%d segments, error %v; want at least one and no error", len(infos), err)
	}
	return infos[len(infos)-1].Size
}
