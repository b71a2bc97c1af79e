package ship

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// link holds everything that passes between the reader and the writer. Neither of them
// waits for the other while it holds a lock of the link.
type link struct {
	queue   *queue.Queue[tail.Chunk] // reader to writer: lines
	news    news                     // reader to writer: for the next checkpoint
	replies replies                  // writer to reader
	health  health                   // writer to other parts

	save    chan struct{} // any part to writer: save the held lines
	prompt  prompt        // any part to writer: commit soon
	flush   chan flush    // reader to writer: commit everything that is queued
	flushed chan struct{} // writer to reader: the answer to flush
	rewind  chan rewind   // writer to reader: read again from the last commit

	catchUp chan chan<- struct{} // any part to reader: see [Shipper.CatchUp]

	syncBytes  atomic.Int64 // set by the reader once it knows the budget
	frameBytes atomic.Int64 // the most bytes of one frame; also set by the reader
	progress   atomic.Int64 // when the destination last accepted something; ns
	oldest     atomic.Int64 // when the oldest appended but uncommitted line was read; ns, 0: none
	commits    atomic.Int64
}

// flush asks the writer to commit everything that is queued.
type flush struct {
	claims bool // the checkpoint claims that lines of the source are durable; see [tail.Start.Claims]
}

// rewind asks the reader to read again from the last commit. For the streams in ends, reading
// begins where their segments end. done receives the positions at which reading continues.
type rewind struct {
	ends        map[string][]byte // the last raw bytes of each stream
	uncommitted bool              // nothing was committed: forget the positions that were treated as committed
	news        bool              // a usable checkpoint was expected: its absence is a warning
	done        chan map[position.Content]position.Saved
}

func newLink(cfg Config) *link {
	const chunks = 1024 // the most chunks in the queue; further small chunks wait in the source
	l := &link{
		// The spool may have a record from an earlier process with a larger queue.
		queue:   queue.New[tail.Chunk](max(int(cfg.Queue), tail.AreaBytes), chunks, cfg.batchBytes(cfg.frameBytes())),
		replies: replies{wake: make(chan struct{}, 1), published: map[tail.File]tail.Chunk{}},
		health:  health{marks: map[string]segment.Mark{}},
		save:    make(chan struct{}, 1),
		prompt:  prompt{asked: make(chan struct{}, 1)},
		flush:   make(chan flush, 1),
		flushed: make(chan struct{}, 1),
		rewind:  make(chan rewind),
		catchUp: make(chan chan<- struct{}),
	}
	l.syncBytes.Store(int64(cfg.SyncBytes))
	l.frameBytes.Store(int64(cfg.frameBytes()))
	return l
}

// frame returns the present size of a frame in bytes: smaller if the budget is small.
func (l *link) frame() int { return int(l.frameBytes.Load()) }

// setFrame sets the largest size of a frame in bytes.
func (l *link) setFrame(cfg Config, bytes int) {
	l.frameBytes.Store(int64(bytes))
	l.queue.SetWake(cfg.batchBytes(bytes))
}

// requestRewind makes the reader forget everything uncommitted and waits until the reader has
// done so.
func (l *link) requestRewind(ctx context.Context, request rewind) (map[position.Content]position.Saved, error) {
	request.done = make(chan map[position.Content]position.Saved, 1)
	select {
	case l.rewind <- request:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case files := <-request.done:
		return files, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lag returns the age of the oldest line that was read and is not committed. While the
// destination fails, lines are read again and again; their age is then counted from the
// first reading.
func (l *link) lag(now time.Time) time.Duration {
	if since := l.health.waitingSince(); !since.IsZero() {
		return max(0, now.Sub(since))
	}
	if ns := l.oldest.Load(); ns != 0 {
		return max(0, now.Sub(time.Unix(0, ns)))
	}
	if c, ok := l.queue.Front(); ok {
		return max(0, now.Sub(c.Read))
	}
	return 0
}
