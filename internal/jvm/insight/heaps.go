package insight

import (
	"sync"
	"time"
)

// Heap is the heap of a JVM after its last collection that a log shows, in bytes. A size of 0 is not known.
type Heap struct {
	Used     int64
	Capacity int64 // that the JVM had taken
	Max      int64 // that it may take
	Whole    bool  // the collection left no garbage of the old generation
}

// heaps are those of the streams that are followed. The zero value has none.
type heaps struct {
	mu sync.Mutex
	of map[string]pair
}

// pair are the heaps of the last two runs in a stream. A restarted JVM may be read before it is
// seen that the one before has ended.
type pair struct {
	last, before Heap
	began        time.Time // the last run was first read; zero: it is the first one
}

func (h *heaps) change(stream string, to func(*pair)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]pair{}
	}
	p := h.of[stream]
	to(&p)
	h.of[stream] = p
}

func (h *heaps) set(stream string, last Heap) { h.change(stream, func(p *pair) { p.last = last }) }

// restart begins another run.
func (h *heaps) restart(stream string, now time.Time) {
	h.change(stream, func(p *pair) { *p = pair{before: p.last, began: now} })
}

func (h *heaps) forget(stream string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, stream)
}

// Heap returns the heap that a stream last showed of a JVM that was known to run at a time. A zero
// Heap: it has shown none. It is safe for concurrent use.
func (in *Insight) Heap(stream string, ran time.Time) Heap {
	in.heaps.mu.Lock()
	defer in.heaps.mu.Unlock()
	p := in.heaps.of[stream]
	if p.began.After(ran) {
		return p.before
	}
	return p.last
}
