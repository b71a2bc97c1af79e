package pause

import (
	"bytes"
	"time"
)

// old reads a stream of JDK 8 for a [Joiner]. Its collections have no numbers: old numbers them.
type old struct {
	scan   jdk8
	start  Clock // of the open pause
	pauses int   // pauses that had begun before this line
	last   int64 // number of the last pause; -1: none yet
	cycle  int64 // number of the concurrent cycle in progress; -1: none
	over   bool  // ... and only its cleanup may follow
	within bool  // the next events belong to the pause whose number is in last
}

// newOld returns an old that is ready for any line of a stream, the first or a later one.
func newOld() old { return old{last: -1, cycle: -1} }

// Continues reports whether a continuation may have an event, as continuations of JDK 8's records
// do.
func (j *Joiner) Continues() bool { return j.old.scan.active }

// line does the work of [Joiner.Line] for a line that may be JDK 8's. For other lines, ok is
// false.
func (o *old) line(j *Joiner, line []byte) (found, ok bool) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	stamped := false
	if len(line) > 0 && isDigit(line[0]) {
		if r := j.parser.Parse(line); r.Stamped {
			j.clock.read(r, j.handlers.Clock)
			j.begin(&Event{GC: -1})
			line, stamped = r.Message, true
		}
	}
	switch {
	case stamped:
	case len(line) == 0, o.scan.header(line):
		return false, true
	case !o.scan.active && line[0] != '[':
		return false, false
	}
	at := j.clock.Clock
	all := o.scan.read(line, stamped)
	o.report(j)
	if o.scan.aborted {
		o.endCycle(j)
	}
	if begun := o.scan.begun; begun != o.pauses {
		o.pauses, o.start = begun, at
	}
	for i := range all {
		o.take(j, &all[i])
	}
	return j.event.choose(all), true
}

// abandon gives up the open pause at the end of the stream or the run.
func (o *old) abandon(j *Joiner) {
	o.scan.abandon()
	o.report(j)
}

// report reports the pauses whose end was not found.
func (o *old) report(j *Joiner) {
	for ; o.scan.unread > 0; o.scan.unread-- {
		if j.handlers.Unread != nil {
			j.handlers.Unread()
		}
	}
}

// restart begins the run of another JVM.
func (o *old) restart() {
	*o = old{scan: o.scan, last: -1, cycle: -1, pauses: o.scan.begun}
}

// take passes an event on with the number of its collection.
func (o *old) take(j *Joiner, found *oldEvent) {
	e := &found.event
	if o.scan.collector != "" {
		j.setCollector(o.scan.collector)
	}
	if o.scan.version != "" {
		j.run.Version, o.scan.version = o.scan.version, ""
	}
	cut := false
	switch found.of {
	case ofNone:
		if e.Kind == Safepoint {
			j.take(e)
		}
		return
	case ofLast:
		o.takeLate(j, found)
		return
	case ofPause:
		if !o.within {
			o.last = o.number(j)
		}
		e.GC, o.within = o.last, e.Kind != Pause
	case ofCycle:
		switch {
		case e.Kind == Begin || e.Kind == Pause && e.Action() == "initial mark":
			o.endCycle(j)
			o.cycle = o.number(j)
		case o.over && e.Kind == Concurrent && opened(j, o.cycle) == nil:
			return // the cycle was already reported, without its cleanup
		case o.cycle < 0 || o.over && e.Kind == Pause:
			o.endCycle(j)
			o.cycle, cut = o.number(j), true
		}
		if e.GC = o.cycle; e.Kind == Pause {
			o.last = o.cycle
		}
	}
	if e.Kind == Pause {
		j.clock = moment{Clock: o.start.plus(e.Duration)}
	}
	j.take(e)
	if found.coarse {
		j.after = -1
	}
	o.follow(j, found, cut)
}

// follow updates the state of the concurrent cycle after an event.
func (o *old) follow(j *Joiner, found *oldEvent, cut bool) {
	e := &found.event
	c := opened(j, e.GC)
	if c != nil && cut {
		c.Marks |= Cut
	}
	if c != nil && found.coarse {
		c.Allocated = -1
	}
	switch {
	case e.Kind == Concurrent && e.Action() == "reset", found.of == ofPause && e.Kind == Pause && (e.Action() == "full" || e.Action() == "concurrent start"):
		o.endCycle(j)
	case e.Kind == Pause && e.Action() == "cleanup":
		o.over = true
		if c != nil {
			c.ended = true
		}
	}
}

// number returns the next number of a collection.
func (o *old) number(j *Joiner) int64 {
	j.newest++
	return j.newest
}

// opened returns the open collection with the number, or nil.
func opened(j *Joiner, number int64) *collecting {
	for _, c := range j.open {
		if c.GC == number {
			return c
		}
	}
	return nil
}

// endCycle notes that the concurrent cycle has ended.
func (o *old) endCycle(j *Joiner) {
	if c := opened(j, o.cycle); c != nil {
		c.ended = true
	}
	o.cycle, o.over, o.scan.aborted = -1, false, false
}

// takeLate handles an event about the last pause, which has ended.
func (o *old) takeLate(j *Joiner, found *oldEvent) {
	e, c := &found.event, opened(j, o.last)
	if c == nil || c.Count == 0 || c.Count > maxPauses {
		return
	}
	p := &c.pauses[c.Count-1]
	switch e.GC = c.GC; e.Kind {
	case CPU:
		j.takeCPU(c, e)
		return
	case Metaspace:
		c.Metaspace = e.Heap
		return
	case Workers:
		p.Workers = e.Count
	case Space:
		if p.Heap.Known {
			return // its own line has sizes
		}
		p.Heap = e.Heap
		c.heap(e.Heap)
		if j.allocated(c, e.Heap); found.coarse {
			c.Allocated, j.after = -1, -1
		}
	}
	for i := range j.waiting {
		if w := &j.waiting[i]; w.Line == p.Line {
			w.Workers, w.Heap = p.Workers, p.Heap
		}
	}
}

// plus returns the clock d later.
func (c Clock) plus(d time.Duration) Clock {
	if !c.Wall.IsZero() {
		c.Wall = c.Wall.Add(d)
	}
	if c.HasUptime {
		c.Uptime += d
	}
	return c
}
