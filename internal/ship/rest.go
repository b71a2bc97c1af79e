package ship

import (
	"time"

	"github.com/ullage/ullage/internal/segment/store"
)

// restAfter is how long the writer must have appended nothing before it frees memory.
const restAfter = 4 * time.Second

// staging is the memory for appending: the writer's own, and that of the store's encoder.
type staging struct {
	frame []byte    // for a frame whose parts are not contiguous in the queue
	used  time.Time // when something was last appended; zero: the memory has been freed since
}

// rest frees the memory if nothing was appended for restAfter, and returns how long to wait
// before the next call. An earlier call does no harm.
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
