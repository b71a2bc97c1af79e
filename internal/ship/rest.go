package ship

import (
	"time"

	"github.com/ullage/ullage/internal/segment/store"
)

// restAfter is how long the writer appends nothing before it frees memory.
const restAfter = 4 * time.Second

// staging is the memory that appending takes: its own, and the store's encoder.
type staging struct {
	frame []byte    // put together from places in the queue
	used  time.Time // when something was last appended; zero: the memory was freed since
}

// rest frees the memory if nothing was appended for restAfter, and returns how long to wait
// before the next call. Earlier calls do no harm.
func (s *staging) rest(now time.Time, durable *store.Store) time.Duration {
	if s.used.IsZero() {
		return time.Hour
	}
	if left := s.used.Add(restAfter).Sub(now); left > 0 {
		return left
	}
	*s = staging{}
	durable.Rest()
	return time.Hour
}
