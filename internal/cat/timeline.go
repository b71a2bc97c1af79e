package cat

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/ul"
)

// timeline finds the time of the records of one stream: their date or, without one, the
// start of their JVM and their uptime. A run of a JVM begins where uptime falls back.
//
// The start of a run follows from points: what was persisted at a known time was
// written before that time, so that the run started no later than that time less the
// uptime. A sidecar persists what it reads within a second, but may have to catch up
// first. So the earliest start that any point gives is the best one. A record with a
// date and an uptime gives the start exactly. Before its first point, a run started
// when the last line of the run before was written.
//
// The zero value is the timeline of a stream that nothing is known about.
type timeline struct {
	run   int           // number of the run, from 1 up; 0: there was no uptime yet
	up    time.Duration // the highest uptime of the run
	start time.Time     // of the run; zero: unknown
	basis basis
	ahead []time.Time // starts of the next runs, from the last point

	last time.Time // the time of the last record that has one
}

// basis is what a run's start is known from.
type basis uint8

const (
	guessed basis = iota // the end of the run before
	pointed
	exact
)

// date returns the time of a record, or of the last one before it that has a time. It
// returns false if none has.
func (t *timeline) date(r *ul.Record) (time.Time, bool) {
	up, hasUp := r.Since()
	if hasUp {
		if t.run == 0 || ul.Restarted(t.up, up) {
			t.begin()
			t.up = up
		}
		t.up = max(t.up, up)
	}
	when, dated := r.When()
	switch {
	case dated && hasUp:
		t.start, t.basis, t.last = when.Add(-up), exact, when
	case dated:
		t.last = when
	case hasUp && !t.start.IsZero():
		t.last = t.start.Add(up)
	}
	return t.last, !t.last.IsZero()
}

// begin begins the next run.
func (t *timeline) begin() {
	t.run++
	t.start, t.basis = t.last, guessed
	if len(t.ahead) > 0 {
		t.start, t.basis, t.ahead = t.ahead[0], pointed, t.ahead[1:]
	}
}

// point says that the lines in raw, which are read next, were written before a time, and
// the last of them shortly before.
func (t *timeline) point(at time.Time, raw []byte) {
	ends := t.ends(raw)
	starts := make([]time.Time, len(ends))
	for i := len(ends) - 1; i >= 0; i-- {
		at = at.Add(-ends[i]) // the run before ended no later than this one started
		starts[i] = at
	}
	if t.run > 0 {
		if t.basis == guessed || t.basis == pointed && starts[0].Before(t.start) {
			t.start, t.basis = starts[0], pointed
		}
		starts = starts[1:]
	}
	t.ahead = starts
}

// ends returns the highest uptime of the present run, if there is one, and of each run
// that begins in raw.
func (t *timeline) ends(raw []byte) (ends []time.Duration) {
	if t.run > 0 {
		ends = append(ends, t.up)
	}
	var r ul.Record
	for line := range bytes.Lines(raw) {
		if line[0] != '[' {
			continue
		}
		r.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		up, ok := r.Since()
		switch n := len(ends); {
		case !ok:
		case n == 0 || ul.Restarted(ends[n-1], up):
			ends = append(ends, up)
		default:
			ends[n-1] = max(ends[n-1], up)
		}
	}
	return ends
}
