package insight

import (
	"sync"
	"time"
)

// Heap describes the heap of a JVM after the last collection in the log, in bytes. A size of 0 is unknown.
type Heap struct {
	Used     int64
	Capacity int64 // the current size of the heap
	Max      int64 // the maximum size of the heap
	Whole    bool  // the collection left no garbage in the old generation
}

// heaps holds the heaps of the streams that are followed. The zero value is empty.
type heaps struct {
	mu sync.Mutex
	of map[string]pair
}

// pair holds the heaps of the last two runs in a stream. The lines of a restarted JVM may be read
// before the end of the previous run is noticed.
type pair struct {
	last, before Heap
	began        time.Time // when the first line of the last run was read; zero: it is the first run
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

// restart begins the next run.
func (h *heaps) restart(stream string, now time.Time) {
	h.change(stream, func(p *pair) { *p = pair{before: p.last, began: now} })
}

func (h *heaps) forget(stream string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, stream)
}

// Heap returns the heap that a stream last showed for the JVM that is known to have run at the
// given time. It is zero if the stream has shown none. Heap is safe for concurrent use.
func (in *Insight) Heap(stream string, ran time.Time) Heap {
	in.heaps.mu.Lock()
	defer in.heaps.mu.Unlock()
	p := in.heaps.of[stream]
	if p.began.After(ran) {
		return p.before
	}
	return p.last
}
