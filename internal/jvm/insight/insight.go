package insight

import (
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

const (
	maxStreams = 32              // streams that are followed at a time
	calmTime   = time.Minute     // after this time without a line, a stream is calm
	settleTime = time.Second     // after this time without a line, the last event is expected to be complete
	ratioTime  = time.Second     // how often the overhead is updated
	maxBehind  = 2 * time.Minute // a stop that ended longer ago is judged without samples
)

// Insight reads the lines of all streams. Only Run, Recent and Heap may be called from
// goroutines other than the reader's.
type Insight struct {
	metrics *metrics
	judge   *judge
	now     func() time.Time

	// stopped is called with each stop of the application, during Line or CaughtUp. For a
	// safepoint, that is the call of Line that receives the line of the safepoint. It is not
	// called for stops in a file to which two JVMs write, since a pause may be the other JVM's.
	// The stop is valid until stopped returns.
	stopped func(*pause.Stop)

	slow func() time.Duration // the duration that a stop must exceed to be counted as slow; 0: DefaultThreshold

	streams map[string]*stream
	last    *stream // the stream of the last line; usually, the next line is from the same stream
	nothing pause.Event
	checked time.Time
	quiet   atomic.Bool // no line has been read for a while
	heaps   heaps
	note    func(mark.Mark)
}

// New returns an Insight whose metrics are registered with reg. The Insight passes each stop to
// triggers. It passes each mark, of a suspected stall or of figures, to note.
func New(cfg Config, triggers *trigger.Set, note func(mark.Mark), reg prometheus.Registerer, log *slog.Logger) *Insight {
	m := newMetrics(reg)
	return &Insight{metrics: m, judge: newJudge(cfg, m, note, log), now: time.Now, stopped: triggers.Stop, slow: triggers.PauseThreshold, streams: map[string]*stream{}, note: note}
}

// Line reads the next line of a stream, without its newline, and returns the event of the line. The
// Kind of the event is zero if the line has no event. The event is valid until the next call, but
// no longer than line. Pass each line once and in order.
func (in *Insight) Line(name string, line []byte, c ul.Class) *pause.Event {
	s := in.last
	if s == nil || s.name != name {
		if c.Kind == ul.Continuation && in.streams[name] == nil {
			return &in.nothing
		}
		s = in.stream(name)
		in.last = s
	}
	if c.Kind == ul.Continuation && !s.joiner.Continues() {
		return &in.nothing
	}
	s.fresh = true
	if c.Kind == ul.Drop {
		s.tally.Lost(c.Dropped)
	}
	e, ok := s.joiner.Line(line, c)
	if ok {
		s.take(e)
	}
	return e
}

// CaughtUp reports that every line written so far has been read.
func (in *Insight) CaughtUp() {
	now := in.now()
	if now.Sub(in.checked) < ratioTime {
		return
	}
	in.checked = now
	quiet := true
	for _, s := range in.streams {
		s.tick(now)
		quiet = quiet && now.Sub(s.heard) >= calmTime
	}
	in.quiet.Store(quiet)
}

// Recent returns the latest stops of the application, newest first. It is safe for concurrent use.
func (in *Insight) Recent() []Stop { return in.judge.recently() }

// Finish reports that no further line will be read.
func (in *Insight) Finish() {
	for _, name := range slices.Sorted(maps.Keys(in.streams)) {
		s := in.streams[name]
		s.joiner.Flush()
		s.tally.Flush()
	}
}

// stream returns the named stream.
func (in *Insight) stream(name string) *stream {
	if s := in.streams[name]; s != nil {
		return s
	}
	if len(in.streams) >= maxStreams {
		var oldest *stream
		for _, s := range in.streams {
			if oldest == nil || s.heard.Before(oldest.heard) {
				oldest = s
			}
		}
		oldest.joiner.Flush()
		oldest.tally.Flush()
		in.metrics.forget(oldest.name)
		in.heaps.forget(oldest.name)
		delete(in.streams, oldest.name)
	}
	s := newStream(in, name)
	in.streams[name] = s
	return s
}
