package seek

import "time"

const (
	every      = 10 * time.Second // between two entries,
	everyBytes = 1 << 20          // or so many bytes on disk
)

// Place is the end of a commit.
type Place struct {
	Seq    uint64
	Start  time.Time // creation time of the segment
	Offset int64
}

// Upto reports whether an entry's place is p or before it.
func (e Entry) Upto(p Place) bool { return compare(e, Entry{Seq: p.Seq, Offset: p.Offset}) <= 0 }

// Recorder decides which commits of a stream get an entry, and what is in it. The zero
// value is that of a stream without a seek file.
type Recorder struct {
	last  Entry // the last one in the file
	clock clock
	time  int64 // no line since the last entry was written later; zero: no line was seen
}

// Resume continues behind the entries of a file.
func (r *Recorder) Resume(entries []Entry) {
	r.last = Entry{}
	if len(entries) == 0 {
		return
	}
	r.last = entries[len(entries)-1]
	if !r.clock.known {
		r.clock = clock{wall: r.last.Time, up: r.last.Up, known: true}
	}
}

// See receives the end of each commit, with the time at which its last line was read, and
// the milliseconds since boot then. It reports whether the commit gets an entry; the
// caller writes the entry and calls Wrote.
func (r *Recorder) See(at Place, read time.Time, up uint32) (e Entry, due bool) {
	wall := read.UnixMilli() + 1 // so that a line of the same millisecond is before it
	r.time = max(r.time, r.clock.latest(wall, up))
	e = Entry{Seq: at.Seq, Start: at.Start.UnixMilli(), Offset: at.Offset, Time: r.time, Up: up}
	since, from := at.Start.UnixMilli(), int64(0) // the name of a segment has a time, too
	if r.last.Seq == e.Seq && r.last.Start == e.Start {
		since, from = r.last.Time, r.last.Offset
	}
	waited := time.Duration(e.Time-since) * time.Millisecond
	due = waited >= every || waited < 0 || e.Offset-from >= everyBytes
	return e, due && compare(r.last, e) < 0
}

// Wrote says that an entry is in the file.
func (r *Recorder) Wrote(e Entry) { r.last, r.time = e, 0 }

const (
	stepMin = time.Second     // a shorter step of the clock, or one by less than a thousandth of
	stepMax = 5 * time.Second // the time that has passed, may be a clock that is adjusted; at most so much
	day     = 24 * time.Hour  // a longer one is not a step: the node, or its boot, is another one
)

// clock notices that the system clock is set back.
type clock struct {
	wall  int64
	up    uint32
	known bool
}

// latest receives what the system clock shows, and the milliseconds since boot. It
// returns the latest that the clock can have shown since the last call: if the clock was
// set back since, what it would show otherwise.
func (c *clock) latest(wall int64, up uint32) int64 {
	passed := int64(up - c.up) // modulo 2^32, which is 49 days
	otherwise := c.wall + passed
	known := c.known
	*c = clock{wall, up, true}
	back := otherwise - wall
	adjusted := min(stepMin.Milliseconds()+passed/1000, stepMax.Milliseconds())
	if known && back > adjusted && back < day.Milliseconds() {
		return otherwise
	}
	return wall
}
