package pause

import "time"

const (
	// FiguresTime is the period that the [Figures] of a [Tally] cover, as long as the log has
	// lines.
	FiguresTime = 10 * time.Minute

	// figuresPause is how long a Tally waits after it has passed on figures: a log that is read
	// much faster than it was written has fewer figures, and each covers a longer period.
	figuresPause = 5 * time.Second
)

// Tally sums up the records of a [Joiner] in [Figures], which it passes on when they are complete. It
// is not safe for concurrent use. Create one with [NewTally].
type Tally struct {
	floor Floor
	pass  func(*Figures)

	sum       Figures
	any       bool          // there was a stop or a collection
	mixed     bool          // lines of two JVMs interleave
	run       int           // the number of the last JVM in the log
	last      Clock         // of the latest record of the run
	collected Clock         // the end of the last collection of the run
	ahead     time.Duration // how much of the span is after last
	read      time.Time     // when the last record was read
	passed    time.Time     // when figures were passed on
}

// NewTally returns a Tally that passes figures to pass. A stop of at least the floor may be suspected of
// being a stall.
func NewTally(floor Floor, pass func(*Figures)) *Tally { return &Tally{floor: floor, pass: pass} }

// see receives the time of a record: c is from the log, and at is on the caller's clock, whose current time is now.
func (t *Tally) see(c Clock, at, now time.Time) {
	t.read = now
	step := max(0, since(t.last, c)-t.ahead)
	if step > 0 || !t.last.Known() { // a record may be reported after later ones
		t.last, t.ahead = c, 0
	}
	s := &t.sum
	switch {
	case s.Since.IsZero():
		s.Since, s.Until = at, at
	case at.Sub(s.Until) >= FiguresTime, t.any && at.Sub(s.Since) >= FiguresTime, s.Since.Sub(at) >= FiguresTime:
		at, step = t.turn(at, step, now)
	}
	s.Span += step
	if at.After(s.Until) {
		s.Until = at
	}
}

// turn begins new figures at an event, unless figures were passed on just before. It returns the time of the
// event, which is never in the future, and how much of step belongs to the current figures.
func (t *Tally) turn(at time.Time, step time.Duration, now time.Time) (time.Time, time.Duration) {
	if at.After(now) {
		at = now
	}
	if now.Sub(t.passed) < figuresPause {
		return at, step
	}
	s := &t.sum
	t.passed = now
	idle, back := at.Sub(s.Until) >= FiguresTime, at.Before(s.Since) // back: the clock was set
	if t.any || s.Span > 0 {
		t.end()
	}
	switch {
	case back:
		*s = Figures{Since: at, Until: at}
	case idle: // nothing happened for so long: the idle time has figures of its own
		s.Until, s.Span, step = at, step, 0
		t.end()
	}
	return at, step
}

// since returns the time from one event to another of the same JVM. It prefers uptimes, because the
// uptime clock is never set.
func since(from, to Clock) time.Duration {
	switch {
	case from.HasUptime && to.HasUptime:
		return max(0, to.Uptime-from.Uptime)
	case from.Wall.IsZero() || to.Wall.IsZero():
		return 0
	}
	return max(0, to.Wall.Sub(from.Wall))
}

// Run receives the run of the following records. The first of them was written at the time at on the caller's clock,
// whose current time is now.
func (t *Tally) Run(r *Run, at, now time.Time) {
	t.collected = Clock{}
	t.mixed = t.mixed || r.Mixed
	if r.Number == t.run {
		return
	}
	first := r.First
	if r.Started { // at uptime 0
		at, first = at.Add(-first.Uptime), first.Minus(first.Uptime)
	}
	if t.any { // figures are about one JVM
		t.end()
	}
	t.run, t.last, t.ahead = r.Number, first, 0
	t.see(first, at, now)
}

// Of reports whether the last record was of a run.
func (t *Tally) Of(r *Run) bool { return r.Number == t.run }

// Stop adds a stop of the application. at and now are as for [Tally.Run].
func (t *Tally) Stop(p *Stop, at, now time.Time) {
	t.see(p.End, at, now)
	s := &t.sum
	t.any = true
	s.Stops.Add(p.Duration)
	s.Stopped += p.Duration
	s.Longest = max(s.Longest, p.Duration)
	s.Reaching = max(s.Reaching, p.Reaching)
	if p.Suspect(t.floor) != NoSuspicion {
		s.Suspected++
	}
}

// Collection adds a collection. at and now are as for [Tally.Run].
func (t *Tally) Collection(c *Collection, at, now time.Time) {
	t.see(c.End, at, now)
	s := &t.sum
	t.any = true
	if c.Marks&Full != 0 {
		s.Full++
	}
	if !c.End.Known() {
		return
	}
	if c.Heap.Known {
		s.Heap = c.Heap.After
	}
	if c.Allocated < 0 {
		return
	}
	if !t.collected.Known() { // its bytes were allocated in an unknown time
		t.collected = c.End
		return
	}
	s.Allocated += c.Allocated
	if step := since(t.collected, c.End); step > 0 { // a concurrent collection may end before another that is reported first
		s.Allocating += step
		t.collected = c.End
	}
}

// Lost adds lines that the JVM dropped.
func (t *Tally) Lost(lines uint64) { t.sum.Lost += lines }

// Idle passes on the figures of a log without new records once they cover [FiguresTime]. now is the current time on
// the caller's clock. heard is when the latest line of the JVM of the last record was read, or zero.
func (t *Tally) Idle(heard, now time.Time) {
	s := &t.sum
	more := heard.Sub(t.read)
	if more < figuresPause { // heard may be a little late
		more = 0
	}
	if s.Since.IsZero() || !t.any && more == 0 || now.Sub(s.Since).Abs() < FiguresTime || now.Sub(t.passed) < figuresPause {
		return
	}
	if more > 0 { // the JVM ran without a stop
		s.Until, s.Span, t.ahead, t.read = s.Until.Add(more), s.Span+more, t.ahead+more, heard
	}
	t.passed = now
	t.end()
}

// Flush passes on the figures so far.
func (t *Tally) Flush() {
	if t.any {
		t.end()
	}
}

// end passes on the figures. The next figures begin at the time at which these end.
func (t *Tally) end() {
	t.sum.Run = t.run
	if t.mixed {
		t.sum = Figures{Since: t.sum.Since, Until: t.sum.Until, Mixed: true}
	}
	t.pass(&t.sum)
	t.sum, t.any = Figures{Since: t.sum.Until, Until: t.sum.Until}, false
}
