// Package retry waits before another try and limits how often a line is repeated in the log.
package retry

import (
	"context"
	"time"
)

// Sleep waits for d. If ctx ends first, Sleep returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Backoff is how long to wait after a failure: First, and then twice as long after each further
// failure, up to Most. Both must be more than 0.
type Backoff struct {
	First, Most time.Duration

	last time.Duration // 0: the last try succeeded
}

// Next returns how long to wait after another failure.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.First), b.Most)
	return b.last
}

// Reset records that a try succeeded: the wait after the next failure is First again.
func (b *Backoff) Reset() { b.last = 0 }
