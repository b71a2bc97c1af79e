package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
)

const (
	firstPause = 500 * time.Millisecond
	maxPause   = time.Minute
	drainPause = 2 * time.Second // the longest pause during the drain, which has no time for more
)

// backoff determines the pauses between tries. Its zero value is the state after a successful
// try.
type backoff struct{ retry.Backoff }

// after returns how long to wait after err: as long as the engine asks for, or twice as long as
// after the previous error. The jitter keeps the sidecars of a fleet from retrying at the same
// moment.
func (b *backoff) after(err error) time.Duration {
	b.First, b.Most = firstPause, maxPause
	pause := b.Next()
	var busy *BusyError
	if errors.As(err, &busy) && busy.After > 0 {
		pause = min(busy.After, 10*maxPause)
	}
	return pause + time.Duration(rand.Int64N(int64(pause)/4+1))
}

// pause waits for d before the next try. The drain begins when ctx ends: then the pause ends at
// once, because the engine may work again by now. If stop has ended, pause returns the cause.
func pause(ctx, stop context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return retry.Sleep(stop, min(d, drainPause))
	}
	either, cancel := context.WithCancel(stop)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	_ = retry.Sleep(either, d)
	return context.Cause(stop)
}
