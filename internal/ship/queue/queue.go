package queue

import "sync"

// A Chunk is a run of bytes in the queue and the producer's description of it.
type Chunk[M any] struct {
	Data []byte
	Meta M
	at   int // offset in the ring
}

// Queue is the ring. Create one with [New].
type Queue[M any] struct {
	space chan struct{} // capacity 1: there is room
	ready chan struct{} // capacity 1: there is data

	mu     sync.Mutex
	buf    []byte
	chunks []Chunk[M] // ring of descriptions
	first  int        // index in chunks of the oldest one
	count  int        // chunks held
	head   int        // offset in buf of the oldest chunk
	tail   int        // offset in buf after the newest chunk
	bytes  int        // sum of the chunks' lengths
	wake   int        // Ready is signalled when bytes reach this
	area   int        // offset in buf of the reservation
	wanted int        // length of the Reserve that found no room and waits for Space; 0: none
}

// New returns a queue of the given capacity in bytes that holds at most
// maxChunks chunks. The queue signals Ready when it stops being empty, and
// again when it holds wake bytes, but not for each chunk in between: a consumer
// that wants large batches is not woken for small ones. The queue also signals
// Ready when the producer is [Queue.Starved], however little is queued.
func New[M any](capacity, maxChunks, wake int) *Queue[M] {
	return &Queue[M]{
		space:  make(chan struct{}, 1),
		ready:  make(chan struct{}, 1),
		buf:    make([]byte, capacity),
		chunks: make([]Chunk[M], maxChunks),
		wake:   wake,
	}
}

// SetWake changes the number of bytes at which Ready is signalled. If that many bytes are
// queued already, it signals Ready itself, because no Push would cross the number any more.
func (q *Queue[M]) SetWake(bytes int) {
	q.mu.Lock()
	q.wake = bytes
	due := q.bytes >= bytes
	q.mu.Unlock()
	if due {
		signal(q.ready)
	}
}

// Reserve returns a contiguous area of n bytes for the producer to fill, or nil
// if there is no room now; the producer is then starved. The producer owns the
// area until its next Reserve or Push, and need not release an area that it does
// not use.
func (q *Queue[M]) Reserve(n int) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 {
		// Starting over at 0 limits the memory that light traffic touches.
		q.head, q.tail = 0, 0
	}
	at, ok := q.room(n)
	if !ok {
		q.wanted = n
		signal(q.ready)
		return nil
	}
	q.wanted, q.area = 0, at
	return q.buf[q.area : q.area+n : q.area+n]
}

// room returns the offset in buf of n free bytes for one more chunk.
func (q *Queue[M]) room(n int) (at int, ok bool) {
	wrapped := q.count > 0 && q.tail <= q.head
	switch {
	case q.count == len(q.chunks):
		return 0, false
	case q.count == 0:
		return 0, n <= len(q.buf)
	case wrapped && q.head-q.tail >= n, !wrapped && len(q.buf)-q.tail >= n:
		return q.tail, true
	case !wrapped && q.head >= n:
		return 0, true
	}
	return 0, false
}

// Starved reports whether the producer waits for room while chunks are queued. A
// consumer must then go on to take chunks, however few: a producer that needs all
// of the ring for its next chunk waits for the last of them.
func (q *Queue[M]) Starved() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wanted > 0 && q.count > 0
}

// Push appends the first n bytes of the reserved area, n > 0, as one chunk.
func (q *Queue[M]) Push(n int, meta M) {
	q.mu.Lock()
	if q.count == 0 {
		q.head = q.area
	}
	at := (q.first + q.count) % len(q.chunks)
	q.chunks[at] = Chunk[M]{Data: q.buf[q.area : q.area+n : q.area+n], Meta: meta, at: q.area}
	q.count++
	q.tail = q.area + n
	before := q.bytes
	q.bytes += n
	due := before == 0 || before < q.wake && q.bytes >= q.wake
	q.mu.Unlock()
	if due {
		signal(q.ready)
	}
}

// Peek appends to dst the oldest chunks, in order, as many as fit in max
// bytes and at least one if there is any, and returns it. The chunks stay in
// the queue, and their bytes valid, until Release.
func (q *Queue[M]) Peek(dst []Chunk[M], max int) []Chunk[M] {
	q.mu.Lock()
	defer q.mu.Unlock()
	total := 0
	for i := range q.count {
		c := q.chunks[(q.first+i)%len(q.chunks)]
		if total += len(c.Data); i > 0 && total > max {
			break
		}
		dst = append(dst, c)
	}
	return dst
}

// Span returns the bytes of consecutive chunks as one slice if they are contiguous in the
// ring, as the chunks of one busy file are.
func (q *Queue[M]) Span(chunks []Chunk[M]) (data []byte, ok bool) {
	if len(chunks) == 0 {
		return nil, true
	}
	end := chunks[0].at
	for _, c := range chunks {
		if c.at != end {
			return nil, false
		}
		end += len(c.Data)
	}
	return q.buf[chunks[0].at:end:end], true
}

// Release frees the n oldest chunks.
func (q *Queue[M]) Release(n int) {
	q.mu.Lock()
	for range n {
		q.bytes -= len(q.chunks[q.first].Data)
		q.chunks[q.first] = Chunk[M]{}
		q.first = (q.first + 1) % len(q.chunks)
		q.count--
	}
	if q.count > 0 {
		q.head = q.chunks[q.first].at
	}
	_, fits := q.room(q.wanted)
	roomy := fits && q.bytes <= len(q.buf)/2
	if roomy {
		q.wanted = 0
	}
	q.mu.Unlock()
	if roomy {
		signal(q.space)
	}
}

// Reset discards everything. After that, neither side may use an earlier chunk or area.
func (q *Queue[M]) Reset() {
	q.mu.Lock()
	clear(q.chunks)
	q.first, q.count, q.head, q.tail, q.bytes, q.wanted = 0, 0, 0, 0, 0, 0
	q.mu.Unlock()
	signal(q.space)
}

// Space is signalled by Reset, and by a Release that leaves at most half of the capacity in use
// and enough room for a failed Reserve. So a waiting producer wakes up once, with room for
// many chunks, instead of once for each chunk. One signal may represent several.
func (q *Queue[M]) Space() <-chan struct{} { return q.space }

// Ready is signalled as described at New.
func (q *Queue[M]) Ready() <-chan struct{} { return q.ready }

// Bytes returns how many bytes are queued.
func (q *Queue[M]) Bytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// Capacity returns the size of the ring in bytes.
func (q *Queue[M]) Capacity() int { return len(q.buf) }

// Front returns the description of the oldest chunk.
func (q *Queue[M]) Front() (meta M, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 {
		return meta, false
	}
	return q.chunks[q.first].Meta, true
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
