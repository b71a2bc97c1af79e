package sum

import (
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
)

// Run gathers the data of one run of a JVM.
type Run struct {
	sum    *Sum
	out    view.Run
	extent extent
	times  *times // of the stream; nil: no run of the stream is closed

	shipped bool // a sidecar shipped the log

	stopped    time.Duration
	mixed      bool
	allocation rate
	promotion  rate
	worst      worst
	numbers    numbers
	trend      trend
	sizing     sizing
	after      int64    // heap in use after the last collection; 0: unknown
	metaspace  *float64 // metaspace in use after the last collection; nil: unknown
}

// Run begins a run in a stream. shipped says whether a sidecar has shipped the stream. Runs
// beyond a bound are counted but not listed.
func (s *Sum) Run(stream string, shipped bool, from *pause.Run) *Run {
	r := &Run{sum: s, shipped: shipped, out: view.Run{Stream: stream, Number: from.Number}}
	r.Describe(from)
	return r
}

// Follows records that the run follows another run of the same stream, which is closed. If
// lines have no dates, the run begins where the other run ends.
func (r *Run) Follows(before *Run) {
	r.extent.base, r.times = before.Place(before.extent.last), before.times
}

// Announce marks the beginning of the run on the axis. It is called if another run of the
// stream precedes it.
func (r *Run) Announce(first pause.Clock) {
	if first.Known() {
		at := r.Place(first)
		r.sum.Band("restart", at, at, fmt.Sprintf("%s: run %d of a JVM begins", r.out.Stream, r.out.Number), !first.Wall.IsZero())
	}
}

// Number returns the number of the run in its stream.
func (r *Run) Number() int { return r.out.Number }

// Flags sets the flags of the JVM's command line.
func (r *Run) Flags(flags string) { r.out.Flags = flags }

// Place returns the position of a time on the axis, in ns.
func (r *Run) Place(c pause.Clock) int64 { return r.extent.place(c) }

// Restarted reports whether a time belongs to a JVM that started after this one.
func (r *Run) Restarted(c pause.Clock) bool {
	last := r.extent.last
	return c.HasUptime && last.HasUptime && ul.Restarted(last.Uptime, c.Uptime)
}

// See extends the run to a time.
func (r *Run) See(c pause.Clock) {
	if !c.Known() {
		return
	}
	r.sum.axis.see(c, r.Place(c))
	if r.extent.see(c) && !r.mixed {
		r.extent.stepped = true
		r.sum.Lost.clockSteps++
	}
}

// ended extends the run to the end of a stop. A stop may be reported up to eight stops after
// its line. Later lines may have been seen by then, so an earlier time does not mean that the
// clock was set.
func (r *Run) ended(c pause.Clock) {
	if r.extent.isAfter(c) {
		r.See(c)
	} else if c.Known() {
		r.extent.estimate(c)
		r.sum.axis.see(c, r.Place(c))
	}
}

// Pause records the number of a collection that has a pause in the log.
func (r *Run) Pause(gc int64) { r.numbers.add(gc) }

// Describe copies the properties of the JVM.
func (r *Run) Describe(from *pause.Run) {
	if from.Number != r.out.Number {
		return
	}
	r.out.Collector, r.out.Version, r.out.Started, r.mixed = string(from.Collector), from.Version, from.Started, r.mixed || from.Mixed
	r.out.Settings = nil
	for _, s := range from.Settings {
		r.out.Settings = append(r.out.Settings, view.Setting(s))
	}
}

// Close computes the figures of the run and adds them to the totals.
func (r *Run) Close() {
	s := r.sum
	if r.times == nil {
		r.times = s.newTimes()
	}
	if s.Lost.moreRuns++; len(s.out.Runs) < view.MaxRuns {
		s.Lost.moreRuns--
		defer func() { s.list(r.out, r.times) }()
	}
	span := r.extent.span()
	r.out.Paused = seconds(r.stopped)
	r.out.Begin, r.out.End = r.extent.bounds()
	if r.mixed {
		s.Lost.mixed++
		r.out.Flags = "" // the flags belong to only one of the two JVMs
	} else {
		r.out.Born = r.extent.start(r.out.Started)
		n := r.numbers.count()
		s.Problem(view.ProblemSkipped, n, true, fmt.Sprintf("%s, run %d: %s not in the log, according to the numbers of the other collections", r.out.Stream, r.out.Number, view.Plural(n, "collection")))
	}
	if span > 0 && r.stopped <= span && !r.mixed {
		r.out.Span = seconds(span)
		share := 1 - r.out.Paused/r.out.Span
		r.out.Throughput = &share
		r.times.add(times{r.out.Span, r.out.Paused, r.out.Stops})
		if r.out.Worst = r.worst.minute(r.extent.stepped); r.out.Worst != nil {
			r.out.Worst.Begin = max(r.out.Worst.Begin, r.out.Begin)
		}
	} else {
		r.times.stops += r.out.Stops
		s.out.Totals.Outside += r.out.Stops
	}
	if !r.mixed {
		r.out.Allocated, r.out.Promoted = r.allocation.perSecond(), r.promotion.perSecond()
		r.out.Trend, r.out.Metaspace = r.trend.perHour(), r.metaspace
		if r.after > 0 {
			after := float64(r.after)
			r.out.HeapAfter = &after
		}
		grows := r.out.Trend != nil && r.out.HeapAfter != nil && *r.out.Trend*span.Hours() > leak**r.out.HeapAfter
		r.out.Sizing = r.sizing.close(&r.out, span, s.least, grows)
	}
}
