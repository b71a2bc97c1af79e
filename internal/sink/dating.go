package sink

import (
	"time"

	"github.com/ullage/ullage/internal/format"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ul"
)

const (
	// Dates from 1970 to dusk and uptimes to maxUptime are believed, so that sums of them
	// in Unix nanoseconds, which engines count in, do not overflow.
	dusk      = 7_258_118_400 * int64(time.Second) // the end of 2199
	maxUptime = 50 * 366 * 24 * time.Hour
)

// dating finds out when the lines of one stream were written. The zero value is ready for
// the first line of a stream. It depends on what the segments hold and on when they were
// created, so that a line has the same time when it is delivered again.
//
// A line with a date has that time. A line with an uptime has the JVM's start plus its
// uptime; the log does not say when the JVM started. A segment is created when its first
// line is appended, soon after that line was written. So each segment gives the start an
// upper bound: its creation less the uptime of its first line. The least bound is the
// closest: the first lines of the others had waited longer. An uptime that falls shows
// that another JVM has started, no earlier than the last line of the JVM before it. That
// lower bound holds until the next segment gives an upper one.
type dating struct {
	Start  int64 `json:"start,omitempty"`  // of the JVM, Unix nanoseconds; 0: not known
	Uptime int64 `json:"uptime,omitempty"` // the greatest of that JVM, nanoseconds
	Last   int64 `json:"last,omitempty"`   // time of the last line that shows one, Unix nanoseconds; 0: none does
	Lower  bool  `json:"lower,omitempty"`  // Start is a lower bound
}

// date returns the time of the next line of the stream. First says that it is the first
// line of seg. A line that shows no time has that of the last line before it that does,
// or if there is none, that of the last change of seg.
func (d *dating) date(seg *segment.Info, first bool, kind ul.Kind, line []byte) time.Time {
	if kind == ul.Header || kind == ul.Drop {
		var r ul.Record
		r.Parse(line)
		at, dated := r.When()
		if !dated {
			at, dated = format.When(line)
		}
		dated = dated && at.Equal(bounded(at))
		if dated && string(r.Tags) == "ullage" {
			return at // a marker's time is when lines were dropped: the lines around it may be older
		}
		if up, ok := r.Since(); dated {
			d.Last = at.UnixNano()
		} else if ok && up <= maxUptime {
			d.Last = d.since(bounded(seg.Start).UnixNano(), first, int64(up))
		}
	}
	switch {
	case d.Last != 0:
		return time.Unix(0, d.Last).UTC()
	case seg.ModTime.After(seg.Start):
		return bounded(seg.ModTime.UTC())
	}
	return bounded(seg.Start)
}

// bounded returns t, or the bound that it is beyond.
func bounded(t time.Time) time.Time {
	switch {
	case t.Unix() <= 0:
		return time.Unix(0, 1).UTC()
	case t.Unix() >= dusk/int64(time.Second):
		return time.Unix(0, dusk).UTC()
	}
	return t
}

// since returns the time of a line by its uptime. Created is when its segment was.
func (d *dating) since(created int64, first bool, up int64) int64 {
	if ul.Restarted(time.Duration(d.Uptime), time.Duration(up)) {
		d.Start, d.Uptime, d.Lower = d.Last, 0, true
	}
	bound := created - up
	if d.Start == 0 || first && (d.Lower || bound < d.Start) {
		d.Start, d.Lower = bound, !first
	}
	d.Uptime = max(d.Uptime, up)
	return min(max(d.Start+up, 1), dusk)
}

// check reports whether d can come from [dating.date].
func (d *dating) check() bool {
	inTime := func(at int64) bool { return at >= -int64(maxUptime) && at <= dusk }
	return inTime(d.Start) && inTime(d.Last) && d.Uptime >= 0 && d.Uptime <= int64(maxUptime)
}
