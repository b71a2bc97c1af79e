package ship

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// The memory is freed restAfter after the last append, however often the writer checks
// before.
func TestMemoryOfAppendingGoesOnce(t *testing.T) {
	b := newBench(t)
	s, _ := b.begun(true)
	began := time.Now()
	st := staging{frame: make([]byte, 10), used: began}
	for _, c := range []struct{ after, wait time.Duration }{
		{0, restAfter}, {time.Second, restAfter - time.Second}, {restAfter - 1, 1}, {restAfter, time.Hour}, {restAfter + 1, time.Hour},
	} {
		if wait := st.rest(began.Add(c.after), s.store.Load()); wait != c.wait || (st.frame == nil) != (wait == time.Hour) {
			t.Errorf("after %v: the next check is in %v, want %v; %d bytes are kept", c.after, wait, c.wait, len(st.frame))
		}
	}
}

// If segments are sealed after less than 20 s, the writer looks for such segments more
// often than every restAfter.
func TestTicksDoNotKeepTheWriterFromResting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Segment = store.Config{Compress: segment.Zstd, SegmentBytes: settings.Mi, SegmentAge: time.Second}
	b.write(b.log("gc.log"), lines(0, 1000))
	s, from := b.begun(true)
	s.begins(t, from)
	b.reads(s)
	b.commits(s)
	lasts := restAfter + 2*b.cfg.maintainEvery()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	if err := s.writer.ship(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if !s.writer.staging.used.IsZero() {
		t.Errorf("the writer still holds its memory after %v without a line, want it freed", lasts)
	}
}
