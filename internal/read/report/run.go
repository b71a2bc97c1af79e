package report

import (
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// run gathers what one run of a JVM shows.
type run struct {
	view.Run
	base        int64 // place of uptime 0, in ns, where lines have no dates
	first, last pause.Clock
	early, late time.Time // the earliest and the latest time that is estimated; zero: none is
	stopped     time.Duration
	mixed       bool
	stepped     bool // the clock was set
	allocation  rate
	promotion   rate
	worst       worst
	numbers     numbers
	trend       trend
	after       int64    // heap in use after the last collection; 0: unknown
	metaspace   *float64 // ... and metaspace
}

// see extends the run to a time.
func (r *run) see(c pause.Clock, s *sum) {
	if !c.Known() {
		return
	}
	r.seen(c, s)
	if !r.first.Known() {
		r.first, r.last = c, c
		return
	}
	if !c.Wall.IsZero() && !r.last.Wall.IsZero() && !c.Estimated && !r.last.Estimated {
		by := c.Wall.Sub(r.last.Wall)
		if c.HasUptime && r.last.HasUptime {
			by -= c.Uptime - r.last.Uptime
		} else {
			by = min(by, 0)
		}
		if by.Abs() > time.Second && !r.mixed {
			r.stepped = true
			s.lost.clockSteps++
		}
	}
	if c.HasUptime && r.last.HasUptime && c.Uptime < r.last.Uptime {
		return
	}
	r.last = c
}

// ended extends the run to the end of a stop. It comes up to eight stops later than its
// line, when later lines may have been seen: an earlier time is no step of the clock.
func (r *run) ended(c pause.Clock, s *sum) {
	later := c.Wall.After(r.last.Wall) && !r.stepped
	if c.HasUptime && r.last.HasUptime {
		later = c.Uptime > r.last.Uptime
	}
	if later || !r.last.Known() {
		r.see(c, s)
	} else if c.Known() {
		r.seen(c, s)
	}
}

// seen extends the axis to a time of the run. What is persisted later may show that the JVM
// started earlier than its first lines say.
func (r *run) seen(c pause.Clock, s *sum) {
	if c.Estimated && (r.early.IsZero() || c.Wall.Before(r.early)) {
		r.early = c.Wall
	}
	if c.Estimated && c.Wall.After(r.late) {
		r.late = c.Wall
	}
	s.seen(c, r)
}

// span returns how long the run is in the log, or 0 if that is unknown. The uptime comes
// first: nobody sets it.
func (r *run) span() time.Duration {
	switch {
	case r.first.HasUptime && r.last.HasUptime:
		return max(0, r.last.Uptime-r.first.Uptime)
	case r.stepped || r.first.Wall.IsZero() || r.last.Wall.IsZero():
		return 0
	}
	return max(0, r.last.Wall.Sub(r.first.Wall))
}

// place returns where a time is on the axis, in ns.
func (r *run) place(c pause.Clock) int64 {
	if !c.Wall.IsZero() {
		return c.Wall.UnixNano()
	}
	return r.base + int64(c.Uptime)
}

// describe takes over the properties of the JVM.
func (r *run) describe(from *pause.Run) {
	if from.Number != r.Number {
		return
	}
	r.Collector, r.Version, r.Started, r.mixed = string(from.Collector), from.Version, from.Started, r.mixed || from.Mixed
	r.Settings = nil
	for _, s := range from.Settings {
		r.Settings = append(r.Settings, view.Setting(s))
	}
}

// close works out the figures of the run and adds them to the totals.
func (r *run) close(s *sum) {
	if s.lost.moreRuns++; len(s.out.Runs) < view.MaxRuns {
		s.lost.moreRuns--
		defer func() { s.out.Runs = append(s.out.Runs, r.Run) }()
	}
	span := r.span()
	r.Paused = seconds(r.stopped)
	r.Begin, r.End = axis(r.place(r.first)), axis(r.place(r.last))
	if !r.early.IsZero() {
		r.Begin, r.End = min(r.Begin, axis(r.early.UnixNano())), max(r.End, axis(r.late.UnixNano()))
	}
	r.Born = r.start()
	if r.mixed {
		s.lost.mixed++
		r.Flags = "" // of one of two JVMs
	} else if n := r.numbers.count(); n > 0 {
		s.problem("skipped", n, true, fmt.Sprintf("%s, run %d: %s not in the log, by the numbers of the others", r.Stream, r.Number, view.Plural(n, "collection")))
	}
	if span > 0 && r.stopped <= span && !r.mixed {
		r.Span = seconds(span)
		share := 1 - r.Paused/r.Span
		r.Throughput = &share
		s.span += span
		s.spanStopped += r.stopped
		if r.Worst = r.worst.minute(r.stepped); r.Worst != nil {
			r.Worst.Begin = max(r.Worst.Begin, r.Begin)
		}
	} else {
		s.out.Totals.Outside += r.Stops
	}
	if !r.mixed {
		r.Allocated, r.Promoted = r.allocation.perSecond(), r.promotion.perSecond()
		r.Trend, r.Metaspace = r.trend.perHour(), r.metaspace
		if r.after > 0 {
			after := float64(r.after)
			r.HeapAfter = &after
		}
	}
}

// rate is bytes over the time in which they were counted. The zero value has none.
type rate struct {
	sum    int64
	first  pause.Clock
	last   pause.Clock
	counts int
}

// add adds the bytes that came up since the time before.
func (r *rate) add(at pause.Clock, bytes int64) {
	if bytes < 0 || !at.Known() {
		return
	}
	if r.counts++; r.counts == 1 {
		r.first = at // the bytes before it came up in an unknown time
		return
	}
	r.sum += bytes
	r.last = at
}

func (r *rate) perSecond() *float64 {
	if r.counts < 3 {
		return nil
	}
	d := r.last.Wall.Sub(r.first.Wall)
	if r.first.HasUptime && r.last.HasUptime {
		d = r.last.Uptime - r.first.Uptime
	}
	if d < time.Second/10 {
		return nil
	}
	v := float64(r.sum) / d.Seconds()
	return &v
}

// worst finds the minute with the longest stops, in steps of a second.
type worst struct {
	seconds [60]time.Duration // of the last minute, by second modulo 60
	at      int64             // the last second
	sum     time.Duration
	most    time.Duration
	begin   int64
	any     bool
}

// add adds a stop that began at a place in ns.
func (w *worst) add(at int64, d time.Duration) {
	for left := d; left > 0; {
		second := at / 1e9
		part := min(left, time.Duration((second+1)*1e9-at))
		if part <= 0 || left-part > time.Hour {
			return // no JVM stops for an hour
		}
		w.put(second, part)
		left -= part
		at += int64(part)
	}
}

func (w *worst) put(second int64, d time.Duration) {
	if !w.any || second > w.at+60 {
		w.seconds, w.sum = [60]time.Duration{}, 0
		w.at, w.any = second, true
	}
	if second <= w.at-60 {
		return // the clock was set back
	}
	for w.at < second {
		w.at++
		i := ((w.at % 60) + 60) % 60
		w.sum -= w.seconds[i]
		w.seconds[i] = 0
	}
	w.seconds[((second%60)+60)%60] += d
	if w.sum += d; w.sum > w.most {
		w.most, w.begin = w.sum, w.at-59
	}
}

func (w *worst) minute(stepped bool) *view.Minute {
	if !w.any || stepped {
		return nil
	}
	return &view.Minute{Begin: float64(w.begin), Paused: min(60, seconds(w.most))}
}

// trend is a line through the sizes of the heap after collections, by least squares.
type trend struct {
	n, t, v, tt, tv, vv float64
	first               int64
	end                 float64
}

// add adds a size in bytes at a place in ns.
func (r *trend) add(at, bytes int64) {
	if r.n == 0 {
		r.first = at
	}
	t, v := float64(at-r.first)/3.6e12, float64(bytes)
	r.n, r.t, r.v, r.tt, r.tv, r.vv = r.n+1, r.t+t, r.v+v, r.tt+t*t, r.tv+t*v, r.vv+v*v
	r.end = t
}

// perHour returns the slope of the line, if there are enough sizes over enough time and
// the line explains at least half of their variance.
func (r *trend) perHour() *float64 {
	if r.n < 20 || r.end < 1.0/60 {
		return nil
	}
	covariance := r.n*r.tv - r.t*r.v
	ofTime, ofValue := r.n*r.tt-r.t*r.t, r.n*r.vv-r.v*r.v
	if ofTime <= 0 || ofValue <= 0 || covariance*covariance < 0.5*ofTime*ofValue {
		return nil
	}
	slope := covariance / ofTime
	return &slope
}
