package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/checkpoint"
	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
)

// commit makes everything that was appended durable, saves the checkpoint and
// publishes the positions.
func (w *writer) commit(ctx context.Context) error {
	if w.taken.bytes == 0 {
		w.taken.streams = 0
		return nil
	}
	started := time.Now()
	clear(w.marks)
	for _, st := range w.streams {
		if st.bytes == 0 {
			continue
		}
		mark, err := st.segments.Sync()
		if errors.Is(err, segment.ErrRefused) {
			w.refuseOpen(st, err)
			continue
		}
		if err != nil {
			// What is synced of other streams is cut off again: their old
			// marks still count.
			return err
		}
		w.marks[st.name] = mark
	}
	if w.taken.bytes == 0 {
		return nil // all of it was of streams that are refused
	}
	for name, mark := range w.marks {
		w.check.SetMark(name, mark)
	}
	for f, c := range w.taken.last {
		w.check.SetFile(f.Content(), position.Saved{Stream: f.Stream().Name(), Position: c.End})
	}
	if err := w.saveCheckpoint(ctx); err != nil {
		return err
	}
	w.unsaved = false
	w.link.setMarks(w.marks)
	w.taken.last = w.link.publish(w.taken.last)
	w.m.commits.Observe(time.Since(started).Seconds())
	w.committed()
	w.maintain(ctx)
	return nil
}

// committed counts what a commit has persisted, and forgets it.
func (w *writer) committed() {
	for _, st := range w.streams {
		if st.bytes == 0 {
			continue
		}
		w.m.persisted(st)
		st.forget()
	}
	w.forgetPending()
	if w.link.setFailure(nil, time.Time{}) {
		w.log.Info("commits succeed again")
	}
}

func (w *writer) forgetPending() {
	clear(w.taken.last)
	w.taken.bytes, w.taken.streams, w.taken.oldest = 0, 0, time.Time{}
	w.link.oldest.Store(0)
}

// takeNews takes in what the reader has to say about the checkpoint.
func (w *writer) takeNews() {
	n := w.link.takeNews()
	w.check.Forget(n.gone)
	w.check.Add(n.back)
	if n.dirNews {
		w.check.Attach(n.dir)
	}
	if n.dir != nil {
		n.dir.Close()
	}
}

// saveCheckpoint saves the checkpoint, for as long as it takes: once the segments
// are synced there is no way back, since the slot may hold the new state even
// if saving it has failed.
func (w *writer) saveCheckpoint(ctx context.Context) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		w.takeNews()
		err := w.check.Save()
		if err == nil {
			return nil
		}
		w.m.checkpointErrors.Inc()
		if errors.Is(err, checkpoint.ErrNoRoom) {
			w.log.Warn("source has no room for the checkpoint", "error", err,
				"hint", "shipping continues; after a crash now, the segments decide where reading resumes")
			return nil
		}
		w.link.setFailure(fmt.Errorf("the source does not take the checkpoint: %w", err), w.taken.oldest)
		if backoff == firstBackoff {
			w.log.Error("saving the checkpoint failed", "error", err, "hint", "nothing is reclaimed until a retry succeeds")
		}
		if err := sleep(ctx, backoff); err != nil {
			return err
		}
	}
}
