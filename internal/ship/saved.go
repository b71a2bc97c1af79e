package ship

import (
	"context"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/tail"
)

// saveHeld takes about one frame of the held lines that should be saved and appends them to the
// streams for saved lines. It reports whether it took any. The next commit makes these lines
// durable and frees them.
func (w *writer) saveHeld(ctx context.Context) (saved bool, err error) {
	for bytes := 0; bytes < w.link.frame() && !w.taken.full(w.link.frame(), w.bounds); {
		r, ok := w.detail.next(w.cfg.Segment.Compress != segment.Zstd)
		if !ok {
			break
		}
		if err := w.appendHeld(ctx, &r); err != nil {
			return saved, err
		}
		w.detail.held.Saved(r)
		saved, bytes = true, bytes+r.Size()
	}
	return saved, nil
}

// appendHeld appends the lines of a record to the stream for saved lines. If the
// destination refuses that stream, the lines stay withheld.
func (w *writer) appendHeld(ctx context.Context, r *hindsight.Record) error {
	name := r.Stream + naming.DetailSuffix
	if segment.ValidStream(name) != nil {
		return nil // the name is too long
	}
	st, err := w.stream(name, tail.OtherLabel)
	if st == nil || err != nil {
		return err
	}
	if err := w.saveMarks(ctx); err != nil {
		return err
	}
	if st.taken == 0 {
		w.taken.streams++
	}
	size := r.Size()
	st.taken += size
	w.taken.bytes += size
	if w.taken.oldest.IsZero() {
		w.taken.oldest = time.Now()
	}
	if w.cfg.Segment.Compress == segment.Zstd {
		err = st.segments.AppendFrame(r.Frame)
	} else {
		err = st.appendFrame(r.Raw)
		st.segments.Count(&r.Lines)
	}
	if errors.Is(err, store.ErrRefused) {
		w.refuseOpen(st, err)
		return nil
	}
	if err != nil {
		return err
	}
	st.bytes, st.savedBytes = st.bytes+uint64(size), st.savedBytes+uint64(size)
	st.read = r.Read
	for level, n := range r.Lines {
		st.saved[level] += uint64(n)
	}
	return nil
}
