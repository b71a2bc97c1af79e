package ship

import (
	"maps"
	"sync"

	"github.com/ullage/ullage/internal/ship/tail"
)

// replies is the state that the writer passes to the reader: durable chunks and refused streams.
type replies struct {
	wake chan struct{} // signalled when there is something to take

	mu        sync.Mutex
	published map[tail.File]tail.Chunk
	refused   map[string]error // streams and reasons; never changed in place. Nil: nothing has changed
}

// publish reports that everything up to the given chunks is durable. It keeps the map and
// returns another one for the caller to use.
func (r *replies) publish(last map[tail.File]tail.Chunk) (next map[tail.File]tail.Chunk) {
	r.mu.Lock()
	if len(r.published) == 0 {
		last, r.published = r.published, last
	}
	maps.Copy(r.published, last)
	clear(last)
	r.mu.Unlock()
	r.ring()
	return last
}

// refuse reports which streams are now refused.
func (r *replies) refuse(streams map[string]error) {
	r.mu.Lock()
	r.refused = streams
	r.mu.Unlock()
	r.ring()
}

func (r *replies) ring() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take calls each for the chunks that were published since the last call. It returns the
// refused streams, or nil if they have not changed. A stream is refused only after its last
// commit was published, and is read again from that commit. So a caller that sees the refusal
// has seen that commit.
func (r *replies) take(each func(tail.Chunk)) (refused map[string]error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.published {
		each(c)
	}
	clear(r.published)
	refused, r.refused = r.refused, nil
	return refused
}
