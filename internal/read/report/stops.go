package report

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// stop counts one stop of the application.
func (st *stream) stop(p *pause.Stop) {
	s, r := st.sum, st.run
	why := causeOf(p, s.cfg.Floor)
	r.Stops++
	if r.stopped += p.Duration; r.stopped < 0 {
		r.stopped = 1<<63 - 1
	}
	start := p.Start()
	r.ended(p.End, s)
	if start.Known() {
		r.worst.add(r.place(start), p.Duration)
	}
	s.out.Totals.Stops++
	s.count(why, p.Duration)
	s.part("stops", p.Duration)
	s.mark(why.kind, start, r, p.Duration)
	for i := range p.Pauses {
		s.part("pauses of the collector", p.Pauses[i].Duration)
	}
	if p.Safepoint {
		s.part("time to safepoint", p.Reaching)
		if len(p.Pauses) == 0 {
			s.part("other safepoints", p.Duration)
		}
	}
	suspicion := p.Suspect(s.cfg.Floor)
	if suspicion != pause.NoSuspicion {
		st.suspect(p, why, start, suspicion)
	}
	if to := s.longest(p.Duration); to != nil {
		st.tell(to, p, why, start, suspicion)
	}
}

// tell describes a stop that is listed, and returns the number of its last line.
func (st *stream) tell(to *view.Stop, p *pause.Stop, why cause, start pause.Clock, suspicion pause.Suspicion) (last uint64) {
	to.Stream, to.Run, to.Kind, to.Cause, to.Suspicion = st.in.name, st.run.Number, why.kind, why.String(), suspicion.String()
	to.Lines, last = st.linesOf(p)
	if start.Known() {
		at := axis(st.run.place(start))
		to.At = &at
	}
	if p.Safepoint {
		to.Reaching = pointer(p.Reaching)
	}
	if t := p.Times(); t.Known {
		to.User, to.Sys, to.Real = pointer(t.User), pointer(t.Sys), pointer(t.Real)
	}
	return last
}

func pointer(d time.Duration) *float64 {
	v := seconds(d)
	return &v
}

// causeOf returns the cause of a stop: that of its longest pause, or the operation of the
// safepoint, also if it was mostly outside of its pauses: that is not the collector's time.
func causeOf(p *pause.Stop, floor pause.Floor) cause {
	outside := p.Outside() >= floor.Duration() && p.Outside() >= p.At/2
	if len(p.Pauses) == 0 || outside {
		c := cause{kind: "safepoint", action: p.Operation}
		if p.Name != "" && p.Operation == pause.Other {
			c.action = p.Name
		}
		if outside {
			c.reason = "outside of its pauses"
		}
		return c
	}
	longest := &p.Pauses[0]
	for i := range p.Pauses {
		if p.Pauses[i].Duration > longest.Duration {
			longest = &p.Pauses[i]
		}
	}
	c := cause{kind: kindOf(longest.Action), action: longest.Action}
	if c.action == pause.Other {
		c.action = longest.Name
	}
	if longest.Cause != pause.None && longest.Cause != pause.Other {
		c.reason = longest.Cause
	}
	return c
}

// kindOf returns the kind of a pause by its action.
func kindOf(action string) string {
	switch action {
	case "young", "mixed", "prepare mixed", "concurrent start":
		return "young"
	case "full":
		return "full"
	case "degenerated gc":
		return "degenerated"
	}
	return "concurrent"
}

// wait counts a thread that waited for memory.
func (st *stream) wait(w *pause.Wait) {
	s := st.sum
	if w.Relocation {
		s.part("relocation stalls of single threads", w.Duration)
		return
	}
	s.out.Totals.Waits++
	s.out.Totals.WaitSum += seconds(w.Duration)
	s.part("allocation stalls of single threads", w.Duration)
	s.mark("stall", w.End.Minus(w.Duration), st.run, w.Duration)
}

// collection counts one collection.
func (st *stream) collection(c *pause.Collection) {
	t, r := &st.sum.out.Totals, st.run
	if c.Collector != "" {
		r.Collector = string(c.Collector)
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
	if c.Metaspace.After > 0 { // ZGC rounds it down to MiB
		after := float64(c.Metaspace.After)
		r.metaspace = &after
	}
	if !c.End.Known() {
		return
	}
	r.allocation.add(c.End, c.Allocated)
	r.promotion.add(c.End, c.Promoted)
	if !c.Heap.Known {
		return
	}
	at := r.place(c.End)
	r.after = c.Heap.After
	r.trend.add(at, c.Heap.After)
	if st.sum.dated == !c.End.Wall.IsZero() {
		if c.Start.Known() {
			st.sum.before.add(r.place(c.Start), float64(c.Heap.Before))
		}
		st.sum.after.add(at, float64(c.Heap.After))
		if c.Heap.Capacity > 0 {
			st.sum.size.add(at, float64(c.Heap.Capacity))
		}
	}
}
