package sink

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
)

const (
	firstPause = 500 * time.Millisecond
	maxPause   = time.Minute
)

// backoff is how long to leave an engine alone. The zero value is that the last try went
// well.
type backoff struct{ retry.Backoff }

// after returns how long to wait after err: what the engine says, or twice as long as
// after the error before it. The jitter keeps a fleet from coming back at once.
func (b *backoff) after(err error) time.Duration {
	b.First, b.Most = firstPause, maxPause
	pause := b.Next()
	var busy *BusyError
	if errors.As(err, &busy) && busy.After > 0 {
		pause = min(busy.After, 10*maxPause)
	}
	return pause + time.Duration(rand.Int64N(int64(pause)/4+1))
}
