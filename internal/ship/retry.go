package ship

import (
	"context"
	"errors"

	"github.com/ullage/ullage/internal/segment/store"
)

// reopen returns to the last commit: it cuts every stream to its mark with fresh descriptors
// and makes the reader read again from the positions. It leaves all marks unchanged while the
// destination is missing.
func (w *writer) reopen(ctx context.Context) error {
	replaced, err := w.store.Reopen(ctx)
	if err != nil {
		return err
	}
	if replaced {
		w.follow.to.destination(w.cfg.Dest)
		w.check.SetKey(w.store.Key(), w.store.Number())
		w.unsaved = true
	}
	for _, st := range w.streams {
		if err := w.resume(st); errors.Is(err, store.ErrRefused) {
			w.refuseOpen(st, err)
		} else if err != nil {
			w.retain(ctx) // the streams that are still to be resumed may need space
			return err
		}
		st.forget()
	}
	w.taken.forget()
	w.detail.rewind()
	w.link.oldest.Store(0)
	if err := w.rewind(ctx, rewind{ends: w.ends, news: true}); err != nil {
		return err
	}
	if err := w.saveMarks(ctx); err != nil {
		return err
	}
	// The disk may be full of our own old segments. Retention deletes no segment of a
	// stream that is not resumed.
	w.retain(ctx)
	return nil
}

// readmit retries the refused streams, and reports whether the reader begins again. If it does,
// all streams are read again from their last commit, even streams that cannot be placed, since
// their lines in the queue are discarded with the others. A stream that was never placed is
// forgotten only once the reader has seen that it no longer has files. While such a stream is
// refused, a loss of the checkpoint stays recorded in Checkpoint.Lost; otherwise, a restart
// would persist lines of the stream again.
func (w *writer) readmit(ctx context.Context) (rewound bool, err error) {
	var back []string
	for name, r := range w.refused.streams {
		err := r.place()
		_, marked := w.check.Mark(name)
		switch {
		case err == nil:
			back = append(back, name)
		case !errors.Is(err, store.ErrRefused):
			return false, err
		case !marked && w.view.sawGone(name):
			w.tolerate(w.store.Stream(name).Close())
			back = append(back, name)
		default:
			w.refused.streams[name] = refusal{err, r.place}
		}
	}
	if len(back) == 0 {
		return false, nil
	}
	if err := w.commit(ctx); err != nil {
		return false, err
	}
	for _, name := range back {
		delete(w.refused.streams, name)
	}
	w.showRefused()
	if err := w.rewind(ctx, rewind{ends: w.ends, news: len(w.ends) > 0}); err != nil {
		return true, err
	}
	// messages.md#the-destination: The destination accepts these streams again, or their files are
	// gone.
	w.log.Info("refused streams resolved", "streams", len(back), "still_refused", len(w.refused.streams))
	return true, w.saveMarks(ctx)
}
