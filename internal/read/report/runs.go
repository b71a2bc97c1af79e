package report

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/sum"
)

// runs finds the runs of JVMs in a stream, and the positions of its lines on the axis of
// time.
type runs struct {
	name    string // of the stream
	sum     *sum.Sum
	dates   dating
	joiner  *pause.Joiner
	args    *arguments
	now     *sum.Run // nil: no run is known yet
	restart pause.Clock
	broken  broken
}

// open begins a run. If the stream consists of segments, a sidecar has shipped it.
func (r *runs) open(of *pause.Run) *sum.Run { return r.sum.Run(r.name, r.dates.segments, of) }

// look records the time of the last record.
func (r *runs) look() {
	if c := r.dates.clock(); c.Known() {
		r.at(c)
	}
}

// at records a time that the log shows. A restart is noticed only at an event. So once the
// uptime has fallen, only the first time after that is remembered until the next event.
func (r *runs) at(c pause.Clock) {
	if r.now == nil {
		r.now = r.open(r.joiner.Run())
	}
	if r.joiner.Run().Number != r.now.Number() || r.now.Restarted(c) {
		if r.restart.HasUptime && ul.Restarted(r.restart.Uptime, c.Uptime) || !r.restart.Known() {
			r.restart = c
		}
		return
	}
	r.now.See(c)
}

// event is called if the current line has an event, which may belong to a run that has not been
// announced yet.
func (r *runs) event() {
	if r.now != nil && r.joiner.Run().Number != r.now.Number() && !r.restart.Known() {
		r.look()
	}
}

// pause records the number of a collection that has a pause in the log.
func (r *runs) pause(gc int64) {
	if r.now != nil && r.now.Number() == r.joiner.Run().Number {
		r.now.Pause(gc)
	}
}

// begin is called at the first event of a run.
func (r *runs) begin(of *pause.Run) {
	if r.now == nil {
		r.now = r.open(of)
	} else if r.now.Number() == of.Number {
		r.now.Describe(of)
	} else {
		r.now.Close()
		before := r.now
		r.now = r.open(of)
		r.now.Follows(before)
		r.now.See(r.restart)
		r.restart = pause.Clock{}
		r.now.Announce(of.First)
	}
	if !of.Mixed {
		r.args.give(r.now)
	}
	r.now.See(of.First)
}

// end ends the last run. If there were lines, it makes sure that there is at least one run.
func (r *runs) end(lines bool) {
	if r.now == nil && lines {
		r.now = r.open(r.joiner.Run())
	}
	if r.now == nil {
		return
	}
	if !r.args.given {
		r.args.give(r.now) // the log has no event of this run
	}
	r.now.Describe(r.joiner.Run())
	r.now.Close()
}

// note adds a band at the time of the current record.
func (r *runs) note(kind string, d time.Duration, text string) {
	c := r.dates.clock()
	if !c.Known() {
		return
	}
	if r.now == nil {
		r.at(c)
	}
	at := r.now.Place(c)
	r.sum.Band(kind, at, at+int64(d), text, !c.Wall.IsZero())
}

// broken is a place where bytes of a stream are missing. It becomes a band from the last
// time before the place to the first time after it. The zero value is not a place.
type broken struct {
	kind, text string
	begin      int64 // the last position on the axis before it
	known      bool  // begin is known
	dated      bool  // begin is a date
}

// broke records that bytes are missing after the lines read so far. c is the time of the last
// of these lines, which the caller has ended.
func (r *runs) broke(kind, text string, c pause.Clock) {
	r.resume(true)
	b := broken{kind: kind, text: text}
	if c.Known() {
		r.at(c)
	}
	if c.Known() && r.now != nil {
		b.begin, b.known, b.dated = r.now.Place(c), true, !c.Wall.IsZero()
	}
	r.broken = b
}

// resume adds the band of the broken place as soon as the last record has a time. At the end
// of the stream, or before another such place, there is no such record: the band is then the
// last instant before the place.
func (r *runs) resume(ends bool) {
	b := r.broken
	if b.kind == "" {
		return
	}
	end := b.begin
	if !ends {
		c := r.dates.clock()
		if !c.Known() {
			return
		}
		if r.look(); r.now == nil {
			return
		}
		if end = r.now.Place(c); !b.known {
			b.begin, b.known, b.dated = end, !r.dates.lines.Window.Bounded(), !c.Wall.IsZero() // if there is a window, the place may be long before it
		}
	}
	if r.broken = (broken{}); b.known {
		r.sum.Band(b.kind, b.begin, max(b.begin, end), b.text, b.dated)
	}
}
