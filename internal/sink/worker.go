package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/segment"
)

const (
	saveInterval    = time.Second      // between saves of the cursors: after a kill, lines delivered in this time are repeated
	measureInterval = 10 * time.Second // between two calls of measure while the sink lacks something, at most
	measureShare    = 50               // measure takes at most one part in this many of the time while cursors move
	turn            = 16               // batches of one stream before it is another stream's turn
)

// feed supplies the batches of one stream: lines or whole segments.
type feed interface {
	next() (*Batch, error)
	acknowledge() cursor
	close()
}

// worker feeds one sink. run is its goroutine. Other goroutines use only state.
type worker struct {
	set      *Set
	name     string
	url      string // in a form that logs may show
	segments bool   // the sink takes whole segments
	linger   time.Duration
	sink     Sink
	metrics  sinkMetrics
	log      *slog.Logger
	wake     chan struct{}

	saved    time.Time   // when the cursors were saved
	unsaved  bool        // the cursors have moved since then
	unsaving bool        // the last try to save the cursors failed
	measured measured    // the last call of measure
	stale    bool        // cursors have moved since then
	home     fs.FileInfo // the destination when it held streams last; nil: not known
	backoff  backoff
	told     told
	aside    aside
	memory   lineMemory // of the feed of lines whose turn it is

	state state
}

// state is the part of a worker that other goroutines may use. mu guards it.
type state struct {
	mu      sync.Mutex
	loaded  bool // the cursors were read from the file
	cursors map[string]cursor
	pending map[string]bool      // streams that wait for a turn; true: there is news since their last turn began
	behind  map[string]time.Time // since when the sink has lacked a part of a stream
	torn    map[string]int64     // torn bytes at the end of a stream that no longer grows
	backlog int64
	failure error
	counts  admin.Sink // the counters since the process started
}

func newWorker(s *Set, name, url string, kind Kind, sink Sink, m sinkMetrics, log *slog.Logger) *worker {
	return &worker{set: s, name: name, url: url, segments: kind.Segments, linger: kind.Linger, sink: sink, metrics: m, log: log, wake: make(chan struct{}, 1),
		aside: aside{files{s.dest}, name + ".rejected.jsonl"},
		state: state{cursors: map[string]cursor{}, pending: map[string]bool{}, behind: map[string]time.Time{}, torn: map[string]int64{}}}
}

// cursorName returns the name of the cursor file.
func (w *worker) cursorName() string { return w.name + ".json" }

// expect records which streams have news.
func (w *worker) expect(marks map[string]segment.Mark, ended []string) {
	now := time.Now()
	w.state.mu.Lock()
	for stream := range marks {
		w.mark(stream, now)
	}
	for _, stream := range ended {
		w.mark(stream, now)
	}
	w.state.mu.Unlock()
	w.poke()
}

// mark makes a stream pending. The caller holds mu.
func (w *worker) mark(stream string, since time.Time) {
	if _, is := w.state.behind[stream]; !is {
		w.state.behind[stream] = since
	}
	w.state.pending[stream] = true
	delete(w.state.torn, stream)
}

func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run feeds the sink until ctx ends, then until the sink has everything, or stop ends.
func (w *worker) run(ctx, stop context.Context) error {
	defer func() {
		if err := w.sink.Close(); err != nil {
			// messages.md#sinks: The process ends anyway.
			w.log.Warn("closing a sink failed", "error", err)
		}
	}()
	w.identify(ctx, stop)
	w.begin(ctx, stop)
	tick := kernel.NewTicker(saveInterval)
	defer tick.Stop()
	for stop.Err() == nil {
		began := time.Now()
		ending := ctx.Err() != nil // if true, everything that was committed before ctx ended is pending in this round
		more := w.round(ctx, stop)
		w.save(time.Now(), !more)
		if more {
			continue
		}
		if ending {
			break
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
			_ = retry.Sleep(ctx, w.linger-time.Since(began)) // if ctx ends, the last round follows
		case now := <-tick.C:
			if (w.stale || w.lacks()) && w.measured.due(now, w.stale) {
				w.measure()
			}
		}
	}
	w.save(time.Now(), true)
	return w.left()
}

// begin loads the cursors. Then it makes each stream pending that the sink does not have completely.
// If the cursors cannot be read, begin retries until stop ends: without them, the sink would get
// everything twice.
func (w *worker) begin(ctx, stop context.Context) {
	cursors, err := loadCursors(files{w.set.dest}, w.cursorName())
	for err != nil && !errors.Is(err, errMalformed) {
		w.fail(err)
		if pause(ctx, stop, w.backoff.after(err)) != nil {
			return
		}
		cursors, err = loadCursors(files{w.set.dest}, w.cursorName())
	}
	if err != nil {
		w.metrics.cursorsLost.Inc()
		// messages.md#sinks: The cursor is malformed; `ullage_sink_cursors_lost_total` counts it.
		// The sink gets everything again, beginning with the oldest segment. If the disk fails,
		// `sink fails` is logged instead: the sidecar retries, and delivers nothing until then.
		w.log.Error("reading the cursor of a sink failed", "error", err,
			"hint", "everything is delivered to the sink again, beginning with the oldest segment; a server that recognizes the lines refuses them")
		cursors = map[string]cursor{}
	}
	w.recovered()
	w.state.mu.Lock()
	w.state.cursors, w.state.loaded = cursors, true
	w.state.mu.Unlock()
	w.measure()
}

// round gives each pending stream a turn and reports whether any of them may have more.
func (w *worker) round(ctx, stop context.Context) (more bool) {
	for _, stream := range w.due() {
		if stop.Err() != nil {
			return false
		}
		if w.turn(ctx, stop, stream) {
			more = true
		}
	}
	return more
}

// due returns the pending streams, or none before the first call of Committed.
func (w *worker) due() (streams []string) {
	if !w.set.hasBegun() {
		return nil
	}
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	for stream := range w.state.pending {
		w.state.pending[stream] = false
		streams = append(streams, stream)
	}
	return streams
}

// turn delivers some batches of a stream, and reports whether it may have more.
func (w *worker) turn(ctx, stop context.Context, stream string) bool {
	f, err := w.feedOf(stream)
	if err != nil && !w.segments { // the error concerns the cursor: no segment was read yet
		w.metrics.cursorsLost.Inc()
		w.log.Error("reading the cursor of a sink failed", "stream", stream, "error", err, "hint", "the whole stream is delivered to the sink again, beginning with the oldest segment")
		w.moved(stream, cursor{})
		return true
	}
	if err != nil {
		w.unreadable(stop, stream, err)
		return true
	}
	defer f.close()
	for range turn {
		b, err := f.next()
		if errors.Is(err, io.EOF) {
			return !w.over(stream)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return !w.forget(stream)
		}
		if err != nil {
			w.unreadable(stop, stream, err)
			return true
		}
		switch w.deliver(ctx, stop, b) {
		case stopped:
			return false
		case deleted:
			return true // the next turn lists the segments again, because more of them may have been deleted
		}
		w.moved(stream, f.acknowledge())
		w.save(time.Now(), false)
	}
	return true
}

// feedOf returns a new feed of a stream.
func (w *worker) feedOf(stream string) (feed, error) {
	dir := filepath.Join(w.set.dest, stream)
	w.state.mu.Lock()
	at := w.state.cursors[stream]
	w.state.mu.Unlock()
	committed := func() (segment.Mark, bool) { return w.set.committed(stream) }
	if w.segments {
		return newSegmentFeed(dir, stream, at, committed)
	}
	return newLineFeed(dir, stream, w.set.formats.Classifier(stream), at, &w.memory, committed, func(err error) {
		// messages.md#sinks: Retention deleted a segment before the sink had all of it, or a part
		// of a segment is damaged. The sink continues after it.
		w.log.Warn("sink missed part of the durable copy", "stream", stream, "error", err)
	})
}

// unreadable records that the segments of a stream cannot be read, and waits before the next
// try.
func (w *worker) unreadable(stop context.Context, stream string, err error) {
	w.fail(fmt.Errorf("read the durable copy of stream %q: %w", stream, err))
	_ = retry.Sleep(stop, firstPause)
}

// over removes a stream from pending, unless there is news of it. If the stream does not grow, its
// remaining bytes were torn when the writer died. The cursor stays before these bytes: if the
// stream continues later, the writer puts lines in their place.
func (w *worker) over(stream string) bool {
	mark, growing := w.set.committed(stream)
	torn := int64(0)
	if !growing {
		all, _ := segment.List(filepath.Join(w.set.dest, stream)) // if this fails, the next measure finds out what is left
		torn, _ = w.leftOf(stream, all)
	}
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	if w.state.pending[stream] {
		w.state.behind[stream] = time.Now()
		return false
	}
	delete(w.state.pending, stream)
	if torn > 0 {
		w.state.torn[stream] = torn
	}
	if open, ok := segment.ParseName(mark.Segment); w.segments && growing && !mark.Sealed && ok {
		w.state.behind[stream] = open.Start // the sink gets this segment once it is sealed
	} else {
		delete(w.state.behind, stream)
	}
	return true
}

// forget deletes the cursor of a stream without a directory, unless the destination is away. It removes
// the stream from pending, unless there is news of it.
func (w *worker) forget(stream string) bool {
	if w.present() {
		w.state.mu.Lock()
		delete(w.state.cursors, stream)
		w.state.mu.Unlock()
	}
	return w.over(stream)
}

// moved records that a stream has been acknowledged up to c.
func (w *worker) moved(stream string, c cursor) {
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	w.state.cursors[stream] = c
	w.unsaved, w.stale = true, true
}

// lacks reports whether the sink lacks something.
func (w *worker) lacks() bool {
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	return len(w.state.behind) > 0
}

// save saves the cursors if they have moved, at most once per saveInterval unless due is set.
func (w *worker) save(now time.Time, due bool) {
	if !w.unsaved || !due && now.Sub(w.saved) < saveInterval {
		return
	}
	w.state.mu.Lock()
	text := encodeCursors(cursors{Sink: w.url, Streams: w.state.cursors})
	w.state.mu.Unlock()
	w.saved = now
	err := files{w.set.dest}.replace(w.cursorName(), text)
	if err != nil && !w.unsaving {
		// messages.md#sinks: After a restart, the sink gets some lines again. Logged once until a
		// save succeeds.
		w.log.Warn("saving the cursor of a sink failed", "error", err, "hint", "after a restart the sink gets some lines again")
	}
	w.unsaved, w.unsaving = err != nil, err != nil
}

// needs reports whether the sink has not acknowledged all of a segment yet.
func (w *worker) needs(info segment.Info) bool {
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	c, known := w.state.cursors[info.Stream]
	at, _ := segment.ParseName(c.Segment)
	switch {
	case !w.state.loaded:
		return true
	case !known || info.Seq > at.Seq:
		return info.Size > w.state.torn[info.Stream]
	}
	return !w.segments && info.Seq == at.Seq && info.Size-c.Offset > w.state.torn[info.Stream]
}
