// Package retry is how to wait before another try, and before another line of the log that
// says the same.
package retry

import (
	"context"
	"time"
)

// Sleep waits for d. If ctx ends first, it returns why.
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

// Backoff is how long to wait after a failure: First, and after each further failure twice
// as long as before, up to Most. Both must be more than 0.
type Backoff struct {
	First, Most time.Duration

	last time.Duration // 0: the last try went well
}

// Next returns how long to wait after another failure.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.First), b.Most)
	return b.last
}

// Reset says that a try went well: the next failure is the first one again.
func (b *Backoff) Reset() { b.last = 0 }
