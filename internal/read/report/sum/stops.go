package sum

import (
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// Stop counts one stop of the application. It returns the stop's entries in the list of the longest
// stops and in the list of the suspected stops. The caller adds the lines of the log to the entries.
// Nil: the list does not have the stop.
func (r *Run) Stop(p *pause.Stop) (longest, suspected *view.Stop) {
	s := r.sum
	why := causeOf(p, s.floor)
	r.out.Stops++
	if r.stopped += p.Duration; r.stopped < 0 {
		r.stopped = 1<<63 - 1
	}
	start := p.Start()
	r.ended(p.End)
	if start.Known() {
		r.worst.add(r.Place(start), p.Duration)
	}
	s.out.Totals.Stops++
	s.tables.stop(p, why)
	if s.axis.has(start) {
		s.axis.mark(why.kind, r.Place(start), p.Duration)
	}
	suspicion := p.Suspect(s.floor)
	if suspicion != pause.NoSuspicion {
		s.out.Totals.Suspected++
		suspected = s.lists.suspect(p.Duration, suspicion, r.shipped)
	}
	longest = s.lists.offer(p.Duration)
	for _, to := range []*view.Stop{longest, suspected} {
		if to != nil {
			r.tell(to, p, why, suspicion)
		}
	}
	return longest, suspected
}

// tell fills in the entry of a listed stop.
func (r *Run) tell(to *view.Stop, p *pause.Stop, why cause, suspicion pause.Suspicion) {
	to.Stream, to.Run, to.Kind, to.Cause, to.Suspicion = r.out.Stream, r.out.Number, why.kind, why.String(), suspicion.String()
	if start := p.Start(); start.Known() {
		at := axis(r.Place(start))
		to.At = &at
	}
	if p.Safepoint {
		to.Reaching = pointer(p.Reaching)
	}
	if t := p.Times(); t.Known {
		to.User, to.Sys, to.Real = pointer(t.User), pointer(t.Sys), pointer(t.Real)
	}
}

// Wait counts a thread that waited for memory.
func (r *Run) Wait(w *pause.Wait) {
	s := r.sum
	if w.Relocation {
		s.tables.part("relocation stalls of single threads", w.Duration)
		return
	}
	s.out.Totals.Waits++
	s.out.Totals.WaitSum += seconds(w.Duration)
	s.tables.part("allocation stalls of single threads", w.Duration)
	if start := w.End.Minus(w.Duration); s.axis.has(start) {
		s.axis.mark("stall", r.Place(start), w.Duration)
	}
}

// Collection counts one collection.
func (r *Run) Collection(c *pause.Collection) {
	t, a := &r.sum.out.Totals, &r.sum.axis
	if c.Collector != "" {
		r.out.Collector = string(c.Collector)
	}
	t.Collections++
	t.Concurrent += seconds(c.Concurrent)
	for _, m := range []struct {
		mark  pause.Marks
		count *uint64
	}{{pause.Full, &t.Full}, {pause.Degenerated, &t.Degenerated}, {pause.EvacuationFailure, &t.Exhausted}, {pause.Humongous, &t.Humongous}} {
		if c.Marks&m.mark != 0 {
			*m.count++
		}
	}
	if c.Metaspace.After > 0 { // ZGC rounds the metaspace down to MiB
		after := float64(c.Metaspace.After)
		r.metaspace = &after
	}
	if !c.End.Known() {
		return
	}
	r.allocation.add(c.End, c.Allocated)
	r.promotion.add(c.End, c.Promoted)
	r.sizing.collection(c, r.extent.first)
	if !c.Heap.Known {
		return
	}
	at := r.Place(c.End)
	r.after = c.Heap.After
	r.trend.add(at, c.Heap.After)
	if a.has(c.End) {
		if c.Start.Known() {
			a.before.add(r.Place(c.Start), float64(c.Heap.Before))
		}
		a.after.add(at, float64(c.Heap.After))
		if c.Heap.Capacity > 0 {
			a.size.add(at, float64(c.Heap.Capacity))
		}
	}
}
