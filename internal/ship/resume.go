package ship

import (
	"context"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/segment/store"
)

// destinationFailed records an error of the destination. The error is logged when it is
// new, and counted each time.
func (w *writer) destinationFailed(err error, backoff time.Duration) {
	w.m.destinationErrors.WithLabelValues(errorKind(err)).Inc()
	w.link.health.failed(err, w.taken.since(w.link), w.log, w.cfg.Dest, backoff)
	for _, st := range w.streams {
		st.segments.Abandon()
	}
}

// resume places a stream after its committed bytes. If another process has changed
// committed bytes, these are lost, and the stream continues after the bytes that are left.
// No committed segment is deleted.
func (w *writer) resume(st *writerStream) error {
	mark, _ := w.check.Mark(st.name)
	// The mark is our own last one. The present settings do not bound the bytes past it,
	// since the budget may have shrunk since the append. Bytes that are not cut off would be
	// read back from pages that a failed sync has marked clean, and would be treated as
	// durable.
	err := st.segments.Resume(mark, store.Unbounded)
	if !errors.Is(err, store.ErrMark) {
		return err
	}
	// messages.md#the-destination: Another process deleted or changed segments of the stream. The
	// stream continues after what is left.
	w.log.Error("committed segments are missing or changed", "stream", st.name, "error", err, "hint", "the stream continues after what is left")
	mark.Gone = true
	if err = st.segments.Resume(mark, store.Unbounded); errors.Is(err, store.ErrMark) {
		return w.recover(st.name, st.segments)
	}
	if err != nil {
		return err
	}
	w.check.SetMark(st.name, st.segments.Mark())
	w.unsaved = true
	return nil
}

// recover places a stream after its last sound frame. The mark is valid only once the
// reader has found the same place in the source: a checkpoint with only one of the two
// would be wrong.
func (w *writer) recover(name string, seg *store.Stream) error {
	end, _, err := seg.Recover()
	if err != nil {
		seg.Abandon()
		return err
	}
	w.recovered[name] = seg.Mark()
	if len(end) > 0 {
		w.ends[name] = end
	}
	return nil
}

// rewind makes the reader begin again and adopts the marks of the streams that were
// recovered.
func (w *writer) rewind(ctx context.Context, request rewind) error {
	files, err := w.link.requestRewind(ctx, request)
	if err != nil {
		return err
	}
	if len(request.ends) > 0 || request.uncommitted {
		w.link.news.take().apply(w.check, w.detail) // news from before the rewind
		w.check.SetFiles(files)
	}
	for name, mark := range w.recovered {
		w.check.SetMark(name, mark)
		w.unsaved = true
	}
	if len(w.refused.streams) == 0 {
		w.check.Lost = false
	}
	clear(w.recovered)
	clear(w.ends)
	return nil
}
