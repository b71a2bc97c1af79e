package sum

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
)

// extent is the span of a run in the log. The zero value is empty.
type extent struct {
	base        int64 // position of uptime 0, in ns, if lines have no dates
	first, last pause.Clock
	early, late time.Time // the earliest and the latest estimated time; zero: no time is estimated
	stepped     bool      // the clock was set
}

// see extends the run to a time. It reports whether the clock was set since the previous
// time.
func (e *extent) see(c pause.Clock) (step bool) {
	e.estimate(c)
	if !e.first.Known() {
		e.first, e.last = c, c
		return false
	}
	if !c.Wall.IsZero() && !e.last.Wall.IsZero() && !c.Estimated && !e.last.Estimated {
		by := c.Wall.Sub(e.last.Wall)
		if c.HasUptime && e.last.HasUptime {
			by -= c.Uptime - e.last.Uptime
		} else {
			by = min(by, 0)
		}
		step = by.Abs() > time.Second
	}
	if !c.HasUptime || !e.last.HasUptime || c.Uptime >= e.last.Uptime {
		e.last = c
	}
	return step
}

// isAfter reports whether c is after the last time. Times may be seen out of order.
func (e *extent) isAfter(c pause.Clock) bool {
	switch {
	case !e.last.Known():
		return true
	case c.HasUptime && e.last.HasUptime:
		return c.Uptime > e.last.Uptime
	}
	return c.Wall.After(e.last.Wall) && !e.stepped
}

// estimate records an estimated time. Later data may show that the JVM started earlier than its
// first lines suggest.
func (e *extent) estimate(c pause.Clock) {
	if c.Estimated && (e.early.IsZero() || c.Wall.Before(e.early)) {
		e.early = c.Wall
	}
	if c.Estimated && c.Wall.After(e.late) {
		e.late = c.Wall
	}
}

// span returns for how long the run is in the log, or 0 if that is unknown. It prefers uptimes,
// because the uptime clock is never set.
func (e *extent) span() time.Duration {
	switch {
	case e.first.HasUptime && e.last.HasUptime:
		return max(0, e.last.Uptime-e.first.Uptime)
	case e.stepped || e.first.Wall.IsZero() || e.last.Wall.IsZero():
		return 0
	}
	return max(0, e.last.Wall.Sub(e.first.Wall))
}

// place returns the position of a time on the axis, in ns.
func (e *extent) place(c pause.Clock) int64 {
	if !c.Wall.IsZero() {
		return c.Wall.UnixNano()
	}
	return e.base + int64(c.Uptime)
}

// bounds returns the positions of the run's beginning and end on the axis.
func (e *extent) bounds() (begin, end float64) {
	begin, end = axis(e.place(e.first)), axis(e.place(e.last))
	if !e.early.IsZero() {
		begin, end = min(begin, axis(e.early.UnixNano())), max(end, axis(e.late.UnixNano()))
	}
	return begin, end
}

// start returns when the JVM of the run started, on an axis of dates, or 0 if that is unknown. The
// start follows from the uptimes. If lines have no uptimes, the start is the time of the first line,
// but only if that line was logged at the start of the JVM: a later line may be near another JVM's start.
func (e *extent) start(started bool) float64 {
	switch first := e.first; {
	case first.Wall.IsZero():
		return 0
	case first.HasUptime:
		return axis(first.Wall.Add(-first.Uptime).UnixNano())
	case started:
		return axis(first.Wall.UnixNano())
	}
	return 0
}
