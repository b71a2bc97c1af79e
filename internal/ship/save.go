package ship

import (
	"context"
	"errors"
	"fmt"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/ship/checkpoint"
)

// saveCheckpoint saves the checkpoint. After an error other than [checkpoint.ErrNoRoom], it retries
// until ctx ends: the synced segments cannot be cut back, because the slot may hold the new state
// even if saving has failed. Finally, it records the number at the destination, which makes all
// earlier checkpoints stale. The caller reclaims only after that.
func (w *writer) saveCheckpoint(ctx context.Context) error {
	for backoff, first := newBackoff(), true; ; first = false {
		w.link.news.take().apply(w.check, w.detail)
		err := w.check.Save()
		if err == nil {
			w.store.SetNumber(w.check.Number())
			w.follow.saved()
			return nil
		}
		w.m.checkpointErrors.Inc()
		if errors.Is(err, checkpoint.ErrNoRoom) {
			w.store.SetNumber(w.check.Number())
			w.follow.saved()
			// messages.md#the-checkpoint: The tmpfs is full. Nothing is lost. After a crash in this
			// state the segments would decide where reading resumes.
			w.log.Warn("source has no room for the checkpoint", "error", err,
				"hint", "shipping continues; after a crash now, the segments would decide where reading resumes")
			return nil
		}
		w.link.health.setFailure(fmt.Errorf("write the checkpoint to the source: %w", err), w.taken.oldest)
		if first {
			// messages.md#the-checkpoint: The memory of lines that become durable is not reclaimed
			// until a retry succeeds. Restore the permission to write to `SOURCE/.ullage`.
			w.log.Error("saving the checkpoint failed", "error", err, "hint", "nothing is reclaimed until a retry succeeds")
		}
		if err := retry.Sleep(ctx, backoff.Next()); err != nil {
			return err
		}
	}
}

// saveMarks saves the checkpoint if it has changes, such as a new mark, that must be saved before
// the next append.
func (w *writer) saveMarks(ctx context.Context) error {
	if !w.unsaved {
		return nil
	}
	if err := w.saveCheckpoint(ctx); err != nil {
		return err
	}
	w.unsaved = false
	return nil
}
