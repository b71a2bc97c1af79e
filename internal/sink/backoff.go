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
