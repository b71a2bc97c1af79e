package pause

import "strings"

// collecting is a Collection to which more lines may still belong.
type collecting struct {
	Collection
	progress
	pauses [maxPauses]GCPause // the first Count are this collection's
}

// progress holds what the lines of a collection have shown so far.
type progress struct {
	last     Kind // Pause or Concurrent: the event that the next CPU times belong to
	workers  int
	ended    bool // it has ended, but a few more lines about it may follow
	cycle    bool // it has concurrent parts
	during   int64
	promoted int64
	seen     bool // promoted has been read or, with ZGC, during has been
}

// takeGC handles an event with the number of a collection.
func (j *Joiner) takeGC(e *Event) {
	j.guess(e)
	c := j.find(e)
	c.Lines[1] = j.lines
	c.End = j.clock.Clock
	switch e.Kind {
	case Pause:
		j.takePause(c, e)
	case CPU:
		j.takeCPU(c, e)
	case Concurrent:
		j.takeConcurrent(c, e)
	case Begin:
		c.Start, c.cycle = j.clock.Clock, true
		c.called(j.name(e.Name))
		c.Marks &^= Cut
	case Cycle:
		j.takeCycle(c, e)
	case Space:
		j.takeSpace(c, e)
	case Metaspace:
		c.Metaspace = e.Heap
		c.ended = c.ended || j.run.Collector == Shenandoah && c.shown() // this is its last line
	case Workers:
		c.workers = e.Count
	case Failure:
		c.Marks |= EvacuationFailure
	case Cancel:
		c.givenUp(e)
	}
}

// find returns the collection of an event.
func (j *Joiner) find(e *Event) *collecting {
	for _, c := range j.open {
		if c.GC != e.GC {
			continue
		}
		if e.Kind != Pause || !c.ended || j.run.Collector == Shenandoah {
			return c
		}
		j.emit(c) // another JVM uses the same number
		break
	}
	if len(j.open) == maxOpen {
		c := j.open[0]
		c.Marks |= Cut
		j.emit(c)
	}
	var c *collecting
	if n := len(j.free); n > 0 {
		c, j.free = j.free[n-1], j.free[:n-1]
	} else {
		c = new(collecting)
	}
	c.progress = progress{}
	c.Collection = Collection{Run: j.run.Number, GC: e.GC, Action: None, Cause: None, Start: j.clock.Clock, Live: -1, Promoted: -1, Allocated: -1,
		Lines: [2]uint64{j.lines, j.lines}}
	j.open = append(j.open, c)
	return c
}

// called sets the name of a cycle.
func (c *collecting) called(n *name) {
	c.Name, c.Action = n.text, n.action
	if n.cause != None {
		c.Cause = n.cause
	}
}

func (j *Joiner) takePause(c *collecting, e *Event) {
	p, name := &j.out.pause, j.name(e.Name)
	*p = GCPause{GC: e.GC, Collector: j.run.Collector, Name: name.text, Action: name.action, Cause: name.cause, End: j.clock.Clock,
		Duration: e.Duration, Heap: e.Heap, Workers: c.workers, Line: j.lines}
	if p.Cause == None && j.runs.failed && (p.Action == "degenerated gc" || p.Action == "full") {
		p.Cause, j.runs.failed = allocationFailure, false
	}
	if p.Cause == None {
		p.Cause = c.Cause
	} else if c.Cause == None {
		c.Cause = p.Cause
	}
	if c.Count == 0 && !c.cycle || e.Duration > c.Paused && !c.cycle || c.cycle && endsWith(p.Action) {
		c.Name, c.Action = p.Name, p.Action
	}
	if c.Count == 0 && !c.cycle {
		c.Start = j.clock.Minus(e.Duration)
	}
	if c.Count < maxPauses {
		c.pauses[c.Count] = *p
	}
	c.Count++
	c.Paused += e.Duration
	c.last = Pause
	c.mark(p.Name, p.Action)
	if c.heap(e.Heap); e.Heap.Known {
		j.allocated(c, e.Heap)
	}
	if endsWith(p.Action) && j.run.Collector != Shenandoah {
		j.finish(e.GC)
	}
	if c.ended = c.ended || endsWith(p.Action) || isLast(p.Action); c.ended {
		c.promote(&j.run)
	}
	j.wait(*p)
	if j.handlers.Pause != nil {
		j.handlers.Pause(p)
	}
}

// endsWith reports whether a pause of the given action ends its collection.
func endsWith(action string) bool {
	switch action {
	case "young", "mixed", "prepare mixed", "concurrent start", "full", "degenerated gc":
		return true
	}
	return false
}

// isLast reports whether a pause is the last of a cycle of Shenandoah. Concurrent work and
// sizes may follow.
func isLast(action string) bool { return action == "final update refs" || action == "final roots" }

// mark sets the marks that a pause of a collection shows.
func (c *collecting) mark(name, action string) {
	switch action {
	case "full":
		c.Marks |= Full
	case "degenerated gc":
		c.Marks |= Degenerated
	}
	if strings.Contains(name, "(Evacuation Failure") {
		c.Marks |= EvacuationFailure
	}
	if c.Cause == "G1 Humongous Allocation" {
		c.Marks |= Humongous
	}
}

// heap joins the sizes in one line to those in the lines before it.
func (c *collecting) heap(h Heap) {
	if !h.Known {
		return
	}
	if c.Heap.Known {
		h.Before = c.Heap.Before
	}
	if h.Capacity == 0 {
		h.Capacity = c.Heap.Capacity
	}
	c.Heap = h
}

// allocated adds the bytes allocated since the previous collection. They are the difference of
// the sizes only if the log shows all changes of the heap. With Shenandoah, for instance, the
// copies that a collection makes are part of the used heap until it ends.
func (j *Joiner) allocated(c *collecting, h Heap) {
	switch j.run.Collector {
	case Shenandoah, Z, GenerationalZ:
		return
	}
	if grown := h.Before - j.after; j.after >= 0 && grown >= 0 && !j.run.Mixed {
		c.Allocated = max(0, c.Allocated) + grown
	}
	j.after = h.After
}

// wait holds a pause until its safepoint is known.
func (j *Joiner) wait(p GCPause) {
	j.unpaired = min(j.unpaired+1, maxWaiting)
	if j.unpaired == maxWaiting || len(j.waiting) == maxWaiting {
		for len(j.waiting) > 0 {
			j.emitPause()
		}
	}
	j.waiting = append(j.waiting, p)
}

// takeCPU joins CPU times to the pause before them. With CMS, they may follow a
// concurrent phase instead.
func (j *Joiner) takeCPU(c *collecting, e *Event) {
	j.timed = true
	n := min(c.Count, maxPauses)
	if c.last != Pause || c.Count == 0 || c.Count > maxPauses || c.pauses[n-1].Times.Known {
		return
	}
	p := &c.pauses[n-1]
	p.Times = Times{User: e.User, Sys: e.Sys, Real: e.Real, Known: true}
	for i := range j.waiting {
		if w := &j.waiting[i]; w.Line == p.Line {
			w.Times = p.Times
		}
	}
	if j.handlers.Timed != nil {
		j.handlers.Timed(p)
	}
}

func (j *Joiner) takeConcurrent(c *collecting, e *Event) {
	c.last, c.cycle = Concurrent, true
	name := j.name(e.Name)
	switch {
	case j.run.Collector == Shenandoah && c.Count == 0:
		c.Name, c.Action = "Concurrent cycle", "concurrent cycle" // no line names it
	case c.Name == "":
		c.called(name)
	}
	switch name.action {
	case "mark cycle", "undo cycle", "cycle":
		c.called(name)
		c.ended = true
		if c.Start = j.clock.Minus(e.Duration); e.Duration == 0 {
			c.Marks |= Cut
		}
		return
	case "reset":
		c.ended = c.ended || j.run.Collector == CMS
	}
	c.Concurrent += e.Duration
	c.heap(e.Heap)
}

func (j *Joiner) takeCycle(c *collecting, e *Event) {
	name := j.name(e.Name)
	if name.action == "young generation" || name.action == "old generation" {
		c.heap(e.Heap)
		return
	}
	c.called(name)
	c.cycle, c.ended = true, true
	c.heap(e.Heap)
	if e.Heap.Known && j.run.Collector == Z {
		if grown := e.Heap.Before - j.after; j.after >= 0 && grown >= 0 && c.during >= 0 && c.seen && !j.run.Mixed {
			c.Allocated = grown + c.during
		}
		j.after = e.Heap.After
	}
}

// takeSpace handles the sizes of a part of the heap.
func (j *Joiner) takeSpace(c *collecting, e *Event) {
	grown := e.Heap.After - e.Heap.Before
	switch string(e.Name) {
	case "Old regions":
		if grown *= j.run.RegionSize; j.run.RegionSize > 0 {
			c.promoted, c.seen = grown, true
		}
	case "Tenured", "ParOldGen", "PSOldGen", "CMS":
		c.promoted, c.seen, c.Old = grown, true, e.Heap
	case "Humongous regions":
		if e.Heap.Before > 0 || e.Heap.After > 0 {
			c.Marks |= Humongous
		}
	case "Capacity":
		c.Heap.Capacity = e.Heap.After
	case "Live":
		if c.Live = max(0, c.Live) + e.Heap.After; !e.Old {
			c.Live = e.Heap.After
		}
	case "Allocated":
		c.during, c.seen = e.Heap.After, true
	case "Promoted":
		if e.Young {
			c.Promoted = max(0, c.Promoted) + e.Heap.After
		}
	}
}

// promote records how many bytes a young collection promoted.
func (c *collecting) promote(r *Run) {
	if c.seen && c.Marks&(Full|Degenerated) == 0 && !r.Mixed {
		c.Promoted = max(0, c.promoted)
	}
}
