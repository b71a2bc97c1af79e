package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 500 * time.Millisecond
	maxPause   = time.Minute
)

// backoff is how long to leave an engine alone. The zero value is that the last try went
// well.
type backoff struct{ pause time.Duration }

// after returns how long to wait after err: what the engine says, or twice as long as
// after the error before it. The jitter keeps a fleet from coming back at once.
func (b *backoff) after(err error) time.Duration {
	b.pause = min(max(2*b.pause, firstPause), maxPause)
	pause := b.pause
	var busy *BusyError
	if errors.As(err, &busy) && busy.After > 0 {
		pause = min(busy.After, 10*maxPause)
	}
	return pause + time.Duration(rand.Int64N(int64(pause)/4+1))
}

// sleep returns the error of stop if that ends first.
func sleep(stop context.Context, pause time.Duration) error {
	over := time.NewTimer(pause)
	defer over.Stop()
	select {
	case <-stop.Done():
		return stop.Err()
	case <-over.C:
		return nil
	}
}
