package insight

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
)

// stream is one stream, to which one JVM at a time writes.
type stream struct {
	in     *Insight
	name   string
	joiner *pause.Joiner
	tally  *pause.Tally
	load   overhead
	shown  int // the number of the latest run that has had a stop

	fresh bool      // a line has been read since the last tick
	heard time.Time // time of the last tick with lines or, before that, when the stream appeared
	start time.Time // start of the JVM, computed from the uptimes of lines and the times at which the lines were read; zero: not known

	heapAfter, heapCapacity, liveData, ratio prometheus.Gauge
}

func newStream(in *Insight, name string) *stream {
	s := &stream{in: in, name: name, heard: in.now()}
	s.tally = pause.NewTally(in.judge.floor, s.figured)
	s.joiner = pause.NewJoiner(pause.Handlers{Run: s.run, Pause: s.paused, Wait: s.waited, Stop: s.stopped, Collection: s.collected})
	return s
}

// tick completes events for which no further lines are expected, and updates figures that change
// with time.
func (s *stream) tick(now time.Time) {
	if s.fresh {
		s.fresh, s.heard = false, now
	} else if now.Sub(s.heard) >= settleTime {
		s.joiner.Settle()
	}
	heard := s.heard
	if !s.tally.Of(s.joiner.Run()) { // another JVM has started and has had no stop yet
		heard = time.Time{}
	}
	s.tally.Idle(heard, now)
	if s.ratio != nil {
		s.ratio.Set(s.load.ratio(now))
	}
}

// take counts an event that does not depend on other events.
func (s *stream) take(e *pause.Event) {
	m := s.in.metrics
	switch e.Kind {
	case pause.Safepoint:
		m.safepoint(e.Operation()).Observe(e.Duration.Seconds())
		m.reaching.Observe(e.Reaching.Seconds())
	case pause.Concurrent:
		m.concurrent(label(s.joiner.Run().Collector), e.Action()).Observe(e.Duration.Seconds())
	case pause.Init:
		if string(e.Name) == "Using" {
			m.starts.Inc()
		}
	}
	if e.Timed {
		m.user.Add(e.User.Seconds())
		m.sys.Add(e.Sys.Seconds())
	}
}

// figured turns figures into a mark.
func (s *stream) figured(f *pause.Figures) {
	s.in.note(mark.New(mark.JVMFigures, append([]string{"stream", s.name}, f.Fields()...)...))
}

// run begins a run of a JVM.
func (s *stream) run(r *pause.Run) {
	s.start = time.Time{}
	s.tally.Run(r, s.when(r.First), s.in.now())
	if r.Number > 1 {
		s.in.heaps.restart(s.name, s.in.now())
	}
	if r.Number > 1 && !r.Started {
		s.in.metrics.starts.Inc() // the lines of its start are not in the log
	}
}

func (s *stream) paused(p *pause.GCPause) {
	s.in.metrics.pause(label(p.Collector), p.Action, p.Cause).Observe(p.Duration.Seconds())
	s.heap(p.Heap, p.Collector, p.Action)
	if s.ratio == nil {
		s.ratio = s.in.metrics.ratio.WithLabelValues(s.name)
	}
	s.load.add(s.when(p.End), p.Duration)
}

// generational lists the collectors that leave garbage in the old generation, except in a full
// collection. Every collection of any other collector is treated as whole (see [Heap]): it collects the
// whole heap, or a JVM with that collector may end without a full collection although its heap is full.
var generational = []pause.Collector{pause.Serial, pause.Parallel, pause.G1}

// heap records the sizes of the heap after a collection.
func (s *stream) heap(h pause.Heap, of pause.Collector, action string) {
	if !h.Known {
		return
	}
	last := Heap{Used: h.After, Capacity: h.Capacity, Whole: action == "full" || !slices.Contains(generational, of)}
	for _, one := range s.joiner.Run().Settings {
		last.Max = max(last.Max, one.MaxHeap())
	}
	s.in.heaps.set(s.name, last)
	if s.heapAfter == nil {
		s.heapAfter = s.in.metrics.heapAfter.WithLabelValues(s.name)
	}
	s.heapAfter.Set(float64(h.After))
	if h.Capacity > 0 {
		if s.heapCapacity == nil {
			s.heapCapacity = s.in.metrics.heapCapacity.WithLabelValues(s.name)
		}
		s.heapCapacity.Set(float64(h.Capacity))
	}
}

func (s *stream) waited(w *pause.Wait) {
	if !w.Relocation {
		s.in.metrics.waits.Observe(w.Duration.Seconds())
	}
}

func (s *stream) stopped(stop *pause.Stop) {
	end, now := s.when(stop.End), s.in.now()
	s.tally.Stop(stop, end, now)
	if stop.Duration > cmp.Or(s.in.slow(), DefaultThreshold) {
		s.in.metrics.slow.Inc()
	}
	if run := s.joiner.Run().Number; run != s.shown {
		s.shown = run
		s.in.judge.sampler.appeared.Store(true) // by its first stop, a JVM has started all its threads
	}
	s.in.judge.stopped(s.name, stop, end, now)
	if !s.joiner.Run().Mixed {
		s.in.stopped(stop)
	}
}

func (s *stream) collected(c *pause.Collection) {
	s.tally.Collection(c, s.when(c.End), s.in.now())
	m := s.in.metrics
	if c.Allocated > 0 {
		m.allocated.Add(float64(c.Allocated))
	}
	if c.Promoted > 0 {
		m.promoted.Add(float64(c.Promoted))
	}
	// The sizes of a pause of JDK 8 may be in a later line than the pause.
	if len(c.Pauses) == 0 || !c.Pauses[len(c.Pauses)-1].Heap.Known || c.Count == 1 && s.joiner.Continues() {
		s.heap(c.Heap, c.Collector, c.Action)
	}
	if live, ok := c.LiveData(); ok {
		if s.liveData == nil {
			s.liveData = m.liveData.WithLabelValues(s.name)
		}
		s.liveData.Set(float64(live))
	}
}

// when returns the time of a line on the sidecar's clock: the wall-clock time in the line or,
// without one, the start of the JVM plus the uptime in the line. The JVM cannot have started later
// than the time at which a line was read, less the uptime in that line; the earliest such time is
// used. A line is never dated in the future.
func (s *stream) when(c pause.Clock) time.Time {
	now := s.in.now()
	switch {
	case c.Wall.After(now):
		return now
	case !c.Wall.IsZero():
		return c.Wall
	case !c.HasUptime:
		return now
	}
	if start := now.Add(-c.Uptime); s.start.IsZero() || start.Before(s.start) {
		s.start = start
	}
	return s.start.Add(c.Uptime)
}

// label returns the value of the label gc.
func label(c pause.Collector) string {
	if c == "" {
		return "unknown"
	}
	return string(c)
}
