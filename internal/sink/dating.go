package sink

import (
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
)

const (
	// Times are between 1970 and dusk, the end of 2199, so that engines can store them as Unix
	// nanoseconds. A JVM may have started up to maxUptime before 1970.
	dusk      = ul.Dusk * int64(time.Second)
	maxUptime = ul.MaxUptime
)

// dating dates the lines of one stream as all readers of a copy do; see package clock. The zero
// value is ready for the first line of a stream.
//
// A sink dates lines as soon as they are committed, without what later writes will show about their
// times. When 'ullage logs' reads an undated line an hour later, it may therefore print an earlier
// time than the sink's. The sink's time is never later than the commit. If a sink gets the line
// again after a kill, the time can differ.
type dating struct{ clock.Dating }

func newDating(class format.Classifier) dating {
	return dating{clock.Dating{Class: class, Timed: true}}
}

// line returns the class and the time of the next line of the stream, which is in seg. A line
// without a time has the time of the last earlier line that shows one, or else of the last
// change of seg. The time of a marker is when lines were dropped: the lines around the marker
// may be older. rest holds the known bytes after the line.
func (d *dating) line(seg *segment.Info, text, rest []byte) (ul.Class, time.Time) {
	l := d.Line(text, rest)
	switch {
	case l.Gap != nil, !l.Time.IsZero():
	case seg.ModTime.After(seg.Start):
		l.Time = seg.ModTime
	default:
		l.Time = seg.Start
	}
	return l.Class, bounded(l.Time)
}

// bounded returns t in UTC, moved into the bounds.
func bounded(t time.Time) time.Time {
	switch {
	case t.Unix() <= 0:
		return time.Unix(0, 1).UTC()
	case t.Unix() >= dusk/int64(time.Second):
		return time.Unix(0, dusk).UTC()
	}
	return t.UTC()
}

// dates is the state of a dating in a cursor. Times are in Unix nanoseconds; 0: not known.
type dates struct {
	Start  int64 `json:"start,omitempty"`  // of the JVM
	Uptime int64 `json:"uptime,omitempty"` // the highest uptime of that JVM, nanoseconds
	Last   int64 `json:"last,omitempty"`   // time of the last line that shows one
	Lower  bool  `json:"lower,omitempty"`  // Start is a lower bound
	Exact  bool  `json:"exact,omitempty"`  // Start is from a line with date and uptime
}

// dates returns the state for a cursor.
func (d *dating) dates() dates {
	s := d.Clock.State()
	return dates{Start: nanos(s.Start), Uptime: int64(s.Uptime), Last: nanos(s.Last), Lower: s.Guessed, Exact: s.Exact}
}

// resume continues from a remembered state.
func (d *dating) resume(from dates) {
	s := clock.State{Uptime: time.Duration(from.Uptime), Guessed: from.Lower, Exact: from.Exact}
	if from.Start != 0 {
		s.Start, s.Run = time.Unix(0, from.Start), 1
	}
	if from.Last != 0 {
		s.Last = time.Unix(0, from.Last)
	}
	d.Clock.Resume(s)
}

// nanos returns a time in Unix nanoseconds, clamped to the bounds.
func nanos(t time.Time) int64 {
	switch earliest := time.Unix(0, -int64(maxUptime)); {
	case t.IsZero():
		return 0
	case t.Before(earliest):
		return earliest.UnixNano()
	case t.Unix() >= dusk/int64(time.Second):
		return dusk
	}
	return t.UnixNano()
}

// check reports whether [dating.dates] can have returned d.
func (d dates) check() bool {
	inTime := func(at int64) bool { return at >= -int64(maxUptime) && at <= dusk }
	return inTime(d.Start) && inTime(d.Last) && d.Uptime >= 0 && d.Uptime <= int64(maxUptime)
}
