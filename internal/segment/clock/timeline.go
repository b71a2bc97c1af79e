package clock

import (
	"bytes"
	"iter"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/index"
)

// Timeline finds the times of the records of one stream: their date or, if they have none, the
// start of their JVM plus their uptime. A run of a JVM begins where the uptime falls back.
//
// The start of a run follows from points: a line that was persisted at a known time was written
// before that time, so the run started no later than that time minus the line's uptime. The
// points are the creation of segments, the entries of the seek file and, if a segment is not a
// copy, its last write. A sidecar reads lines at once, but may have to catch up first. So the
// earliest start that any point gives is the best. A record with a date and an uptime gives the
// start exactly. Before its first point, a run is assumed to have started when the last line of
// the previous run was written.
//
// The zero value is the timeline of a stream about which nothing is known.
type Timeline struct {
	run   int           // number of the run, 1 or higher; 0: there has been no uptime yet
	up    time.Duration // the highest uptime of the run
	start time.Time     // of the run; zero: unknown
	basis basis
	ahead []time.Time // starts of the next runs, according to the last point

	last      time.Time // the time of the last record that has one
	estimated bool      // last is estimated

	from, to time.Time // when the next lines were read; zero: unknown
	by       time.Time // the next lines were written by then; zero: unknown
}

// Run returns the number of the current run, 1 or higher, or 0 if no record has had an uptime
// yet.
func (t *Timeline) Run() int { return t.run }

// Last returns the time of the last record that has a time, and whether that time is estimated.
// Zero: no record has a time.
func (t *Timeline) Last() (at time.Time, estimated bool) { return t.last, t.estimated }

// Read returns when the next lines were read: not before from and not after to.
// Zero: unknown.
func (t *Timeline) Read() (from, to time.Time) { return t.from, t.to }

// Inside reports whether the last record was written between two times, inclusive. Zero: the
// range is open at that end. A record without a time was read between two known times, and is
// inside if any time between them is.
func (t *Timeline) Inside(since, until time.Time) bool {
	from, to := t.last, t.last
	if t.last.IsZero() {
		if from, to = t.from, t.to; to.IsZero() {
			return true
		}
	}
	return !to.Before(since) && (until.IsZero() || !from.After(until))
}

// State is the part of a Timeline that a reader needs to continue later.
type State struct {
	Start, Last time.Time
	Uptime      time.Duration // the highest of the run
	Run         int
	Guessed     bool // Start is the end of the previous run
	Exact       bool // Start is from a record with date and uptime
}

// State returns the state.
func (t *Timeline) State() State {
	return State{Start: t.start, Last: t.last, Uptime: t.up, Run: t.run, Guessed: t.run > 0 && t.basis == guessed, Exact: t.basis == exact}
}

// Resume continues from a state.
func (t *Timeline) Resume(s State) {
	*t = Timeline{run: s.Run, up: s.Uptime, start: s.Start, last: s.Last, basis: pointed}
	switch {
	case s.Exact:
		t.basis = exact
	case s.Guessed || s.Run == 0:
		t.basis = guessed
	}
}

// basis says how a run's start is known.
type basis uint8

const (
	guessed basis = iota // from the end of the previous run
	pointed
	exact
)

// Date returns the time of a record or, if the record has none, of the last earlier record that
// has one. It returns false if no record has a time.
func (t *Timeline) Date(r *ul.Record) (time.Time, bool) {
	up, hasUp := r.Since()
	hasUp = hasUp && up <= ul.MaxUptime
	if hasUp {
		if t.run == 0 || ul.Restarted(t.up, up) {
			t.begin()
			t.up = up
		}
		t.up = max(t.up, up)
	}
	when, dated := r.When()
	dated = dated && ul.Believed(when)
	switch {
	case dated && hasUp:
		t.start, t.basis, t.last = when.Add(-up), exact, when
		t.estimated = false
	case dated:
		t.last, t.estimated = when, false
	case hasUp && !t.start.IsZero():
		t.last, t.estimated = t.start.Add(up), t.basis != exact
		if !t.by.IsZero() && t.last.After(t.by) { // the date of an earlier line is wrong, or the clock was set back
			t.last, t.estimated = t.by, true
		}
	}
	return t.last, !t.last.IsZero()
}

// Passes reports whether the timeline can continue after records that it does not see: it can
// if all of them are from one run of a JVM.
func (t *Timeline) Passes(r *index.Regular) bool {
	return !r.Uptimes || t.run == 0 || ul.Restarted(t.up, r.Begin) || !ul.Restarted(t.up, r.Low)
}

// Pass continues after records that were not read.
func (t *Timeline) Pass(r *index.Regular) {
	if r.Uptimes {
		if t.run == 0 || ul.Restarted(t.up, r.Begin) {
			t.begin()
			t.up = r.Begin
		}
		t.up = max(t.up, r.High)
		t.start, t.basis = r.End.Add(-r.Uptime), exact
	}
	t.last, t.estimated, t.ahead = r.End, false, nil
}

// Dated records, if ok, the time of a record that is not from a JVM's own log.
func (t *Timeline) Dated(when time.Time, ok bool) {
	if ok && ul.Believed(when) {
		t.last, t.estimated = when, false
	}
}

// begin begins the next run.
func (t *Timeline) begin() {
	t.run++
	t.start, t.basis = t.last, guessed
	if len(t.ahead) > 0 {
		t.start, t.basis, t.ahead = t.ahead[0], pointed, t.ahead[1:]
	}
}

// Point records that the next lines, whose uptimes are in ends, were written before a time, and
// the last of them shortly before.
func (t *Timeline) Point(at time.Time, ends Ends) {
	starts := make([]time.Time, len(ends))
	for i := len(ends) - 1; i >= 0; i-- {
		at = at.Add(-ends[i]) // the previous run ended no later than this one started
		starts[i] = at
	}
	if begun := min(t.run, 1); begun < len(starts) {
		for i, known := range t.ahead[:min(len(t.ahead), len(starts)-begun)] {
			if known.Before(starts[begun+i]) {
				starts[begun+i] = known
			}
		}
	}
	if t.run > 0 {
		if t.basis == guessed || t.basis == pointed && starts[0].Before(t.start) {
			t.start, t.basis = starts[0], pointed
		}
		starts = starts[1:]
	}
	t.ahead = starts
}

// Ends is the highest uptime of each run of a JVM in a part of a stream.
type Ends []time.Duration

// Ends returns the highest uptime of the current run, if there is one, and of each run that
// begins in raw.
func (t *Timeline) Ends(raw []byte) (e Ends) {
	if t.run > 0 {
		e = Ends{t.up}
	}
	return e.add(raw)
}

// add continues with the lines in raw.
func (e Ends) add(raw []byte) Ends {
	var r ul.Record
	for line := range bytes.Lines(raw) {
		if !mayHaveUptime(line[0]) {
			continue
		}
		r.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		up, ok := r.Since()
		switch n := len(e); {
		case !ok || up > ul.MaxUptime:
		case n == 0 || ul.Restarted(e[n-1], up):
			e = append(e, up)
		default:
			e[n-1] = max(e[n-1], up)
		}
	}
	return e
}

// lookLines is how many lines at the beginning and at the end of a frame are examined.
const lookLines = 100

// begins reports whether a run seems to begin in raw, according to the first and the last
// uptime in raw. It misses a restart if, within one frame, the restarted JVM logs for longer
// than the previous JVM did.
func (t *Timeline) begins(raw []byte) bool {
	first, ok := edgeUptime(bytes.Lines(raw))
	if !ok {
		return false
	}
	last, ok := edgeUptime(backwards(raw))
	return t.run == 0 || ul.Restarted(t.up, first) || ok && ul.Restarted(first, last)
}

// late reports whether the last line of raw with an uptime seems to be later than a time by
// which all of raw was written. In that case, the run started earlier than its points say.
func (t *Timeline) late(raw []byte, by time.Time) bool {
	last, ok := edgeUptime(backwards(raw))
	return ok && t.basis != exact && !t.start.IsZero() && last <= ul.MaxUptime && t.start.Add(last).After(by)
}

// edgeUptime returns the uptime of the first line that has one.
func edgeUptime(lines iter.Seq[[]byte]) (up time.Duration, ok bool) {
	var r ul.Record
	n := 0
	for line := range lines {
		r.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		if up, ok := r.Since(); ok {
			return up, true
		}
		if n++; n == lookLines {
			break
		}
	}
	return 0, false
}

// backwards yields the lines of raw, the last one first.
func backwards(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(raw) > 0 {
			begin := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1
			if !yield(raw[begin:]) {
				return
			}
			raw = raw[:begin]
		}
	}
}

// mayHaveUptime reports whether a line that begins with c may have an uptime: in brackets, or as
// a stamp of JDK 8.
func mayHaveUptime(c byte) bool { return c == '[' || c-'0' < 10 }

// anyUndated reports whether any record in raw has an uptime but no date. HotSpot writes the
// date first or, if there is no date, the uptime.
func anyUndated(raw []byte) bool {
	var r ul.Record
	for line := range bytes.Lines(raw) {
		if !mayHaveUptime(line[0]) {
			continue
		}
		if first := bytes.TrimPrefix(line, []byte{'['}); len(first) <= len("2026") || first[0] < '0' || first[0] > '9' || first[len("2026")] == '-' {
			continue
		}
		r.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		if _, dated := r.When(); dated {
			continue
		}
		if _, ok := r.Since(); ok {
			return true
		}
	}
	return false
}

// firstRecord parses the first record that begins in the first lines of raw.
func firstRecord(raw []byte) (r ul.Record, ok bool) {
	n := 0
	for line := range bytes.Lines(raw) {
		r.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		if r.Kind == ul.Header {
			return r, true
		}
		if n++; n == lookLines {
			break
		}
	}
	return r, false
}
