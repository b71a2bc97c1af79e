package ship

import (
	"context"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/retry"
)

// run ships everything that is queued until ctx ends. It must be called after begin. An
// error of the destination does not end run: the writer returns to the last commit and
// tries again.
func (w *writer) run(ctx context.Context) error {
	backoff := newBackoff()
	for {
		commits := w.link.commits.Load()
		err := w.ship(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.link.commits.Load() != commits {
			backoff.Reset()
		}
		for {
			pause := backoff.Next()
			w.destinationFailed(err, pause)
			if err := retry.Sleep(ctx, pause); err != nil {
				return err
			}
			if err = w.reopen(ctx); err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}

// ship appends and commits until something fails or ctx ends.
func (w *writer) ship(ctx context.Context) error {
	timer := kernel.NewTimer(w.cfg.SyncInterval)
	defer timer.Stop()
	idle := kernel.NewTicker(w.cfg.maintainEvery())
	defer idle.Stop()
	refused := kernel.NewTicker(refusedRetry)
	defer refused.Stop()
	last := false // the last attempt to readmit refused streams was made
	for {
		wait, err := w.work(ctx)
		if err != nil {
			return err
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.link.queue.Ready():
		case <-timer.C:
		case <-w.link.prompt.asked:
		case <-idle.C:
			if w.taken.nothing(w.link.queue.Bytes()) {
				// The lines that could not be written may no longer be in the source.
				w.link.health.setFailure(nil, time.Time{})
			}
			w.maintain(ctx)
		case <-refused.C:
			if _, err := w.readmit(ctx); err != nil {
				return err
			}
		case <-w.link.save:
			w.detail.begin()
			if err := w.saveCheckpoint(ctx); err != nil {
				return err
			}
		case <-w.link.flush:
			if !last {
				last = true
				if rewound, err := w.readmit(ctx); err != nil {
					return err
				} else if rewound {
					continue // the reader will ask again
				}
			}
			if err := w.drain(ctx); err != nil {
				return err
			}
			w.link.flushed <- struct{}{}
		}
	}
}

// work appends full frames, and commits when that is due. It returns the longest time until
// the next call. While the reader has no room for its next chunk, work appends everything
// that is queued, without a commit: the reader may need the whole ring, for instance for
// one record of the spool.
func (w *writer) work(ctx context.Context) (wait time.Duration, err error) {
	for {
		saved, err := w.saveHeld(ctx)
		if err != nil {
			return 0, err
		}
		now := time.Now()
		if saved {
			w.staging.used = now
		}
		queued := w.link.queue.Bytes()
		due := w.taken.since(w.link)
		if !due.IsZero() {
			due = due.Add(w.link.prompt.interval(w.cfg.SyncInterval, now))
		}
		late := !due.IsZero() && !due.After(now)
		if queued >= w.cfg.batchBytes(w.link.frame()) || late && queued > 0 || w.link.queue.Starved() {
			if err := w.appendBatch(ctx); err != nil {
				return 0, err
			}
		} else if !saved && (w.taken.bytes == 0 || !late && !w.taken.worth(w.bounds.bytes())) {
			if due.IsZero() {
				return w.staging.rest(now, w.store), nil
			}
			return due.Sub(now), nil
		}
		if w.taken.full(w.link.frame(), w.bounds) || w.taken.bytes > 0 && (late || w.taken.worth(w.bounds.bytes())) && w.link.queue.Bytes() < w.link.frame() {
			if err := w.commit(ctx); err != nil {
				return 0, err
			}
		}
	}
}

// drain appends and commits everything that is queued.
func (w *writer) drain(ctx context.Context) error {
	for w.link.queue.Bytes() > 0 {
		if err := w.appendBatch(ctx); err != nil {
			return err
		}
		if w.taken.full(w.link.frame(), w.bounds) {
			if err := w.commit(ctx); err != nil {
				return err
			}
		}
	}
	for more := true; more; {
		if err := w.commit(ctx); err != nil {
			return err
		}
		var err error
		if more, err = w.saveHeld(ctx); err != nil {
			return err
		}
	}
	if !w.follow.to.Followers.SealAtEnd {
		return nil
	}
	w.store.SealAll()
	return w.commitSeals(ctx)
}
