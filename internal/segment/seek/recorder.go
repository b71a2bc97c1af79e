package seek

import "time"

const (
	every      = 10 * time.Second // a commit gets an entry if this time has passed since the last entry,
	everyBytes = 1 << 20          // or if the stream has grown by this many bytes on disk since then
	silence    = 5 * time.Second  // the last commit before a silence of this length gets an entry, too
)

// Place is the end of a commit.
type Place struct {
	Seq    uint64
	Start  time.Time // creation time of the segment
	Offset int64
}

// Recorder decides which commits of a stream get an entry and computes these entries. The zero
// value is right for a stream without a seek file.
type Recorder struct {
	last   Entry // the last one in the file
	seen   Entry // for the last commit, whether in the file or not
	clock  clock
	latest int64 // all lines of the last commit were written by then
	time   int64 // all lines since last were written by then; zero: there are no such lines
}

// Resume continues after the entries of a file and returns how many of them are valid. An entry whose
// place is past at is not valid: its place was cut off, or it belongs to a deleted stream.
func (r *Recorder) Resume(entries []Entry, at Place) (kept int) {
	for kept = len(entries); kept > 0 && compare(entries[kept-1], Entry{Seq: at.Seq, Offset: at.Offset}) > 0; kept-- {
		r.time = max(r.time, entries[kept-1].Time) // it may also cover lines that are still there
	}
	r.last, r.seen = Entry{}, Entry{}
	if kept == 0 {
		return 0
	}
	r.last = entries[kept-1]
	if !r.clock.known {
		r.clock = clock{wall: r.last.Time, up: r.last.Up, known: true}
	}
	return kept
}

// See receives the end of each commit, the time at which its last line was read, and the
// milliseconds since boot at that time. It returns the entries to append, usually none. The
// caller writes them and calls Wrote.
//
// When a silence ends, the last commit before it gets an entry: one JVM may have ended there,
// and another may have begun.
func (r *Recorder) See(at Place, read time.Time, up uint32) (due []Entry) {
	wall := read.UnixMilli() + 1 // so that a line of the same millisecond is earlier
	silent := r.clock.known && wall-r.clock.wall >= silence.Milliseconds()
	r.latest = r.clock.latest(wall, up)
	last, covered := r.last, r.time
	if silent && compare(last, r.seen) < 0 {
		due, last, covered = append(due, r.seen), r.seen, 0
	}
	r.time = max(r.time, r.latest)
	e := Entry{Seq: at.Seq, Start: at.Start.UnixMilli(), Offset: at.Offset, Time: max(covered, r.latest), Up: up}
	r.seen = e
	r.seen.Time = r.time
	if isFar(last, e) {
		due = append(due, e)
	}
	return due
}

// isFar reports whether e is far enough past last to get an entry.
func isFar(last, e Entry) bool {
	since, from := e.Start, int64(0) // in a new segment, the time in its name replaces that of an entry
	if last.Seq == e.Seq && last.Start == e.Start {
		since, from = last.Time, last.Offset
	}
	waited := time.Duration(e.Time-since) * time.Millisecond
	return compare(last, e) < 0 && (waited >= every || waited < 0 || e.Offset-from >= everyBytes)
}

// Wrote records that the entries that See returned last are in the file.
func (r *Recorder) Wrote(due []Entry) {
	r.last, r.time = due[len(due)-1], 0
	if compare(r.last, r.seen) < 0 {
		r.time = r.latest
	}
	r.seen.Time = r.time
}

// The clock may have been adjusted rather than set back if it has lost at most stepMin plus a
// thousandth of the time that has passed, and at most stepMax. A loss of a day or more is not a
// step either: the node is different, or was booted again.
const (
	stepMin = time.Second
	stepMax = 5 * time.Second
	day     = 24 * time.Hour
)

// clock notices when the system clock is set back.
type clock struct {
	wall  int64
	up    uint32
	known bool
}

// latest receives the time of the system clock and the milliseconds since boot. It returns
// the latest time that the clock can have shown since the last call: if the clock was set
// back, the time that it would show otherwise.
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
