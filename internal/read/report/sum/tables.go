package sum

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// maxCauses bounds the number of listed causes.
const maxCauses = 100

// cause is why the application stopped. It is comparable; its text is made only for the few
// causes that are shown.
type cause struct {
	kind   string // one of kinds
	action string // the action of the collector, or the operation of the safepoint
	reason string // why the collector did it; "": unknown, or not a collector
}

func (c cause) String() string {
	if c.reason == "" {
		return c.action
	}
	return c.action + " · " + c.reason
}

// tables holds durations by category. The zero value has none.
type tables struct {
	tally  map[cause]*histogram
	parts  map[string]*histogram
	phases phases
}

// part adds a duration to one of the distributions by part.
func (t *tables) part(name string, d time.Duration) {
	h := t.parts[name]
	if h == nil {
		h = &histogram{}
		t.parts[name] = h
	}
	h.add(d)
}

// count adds a stop to the table of causes.
func (t *tables) count(c cause, d time.Duration) {
	h := t.tally[c]
	if h == nil && len(t.tally) >= maxCauses {
		c = cause{kind: c.kind, action: pause.Other}
		h = t.tally[c]
	}
	if h == nil {
		h = &histogram{}
		t.tally[c] = h
	}
	h.add(d)
}

// stop adds a stop.
func (t *tables) stop(p *pause.Stop, why cause) {
	t.count(why, p.Duration)
	t.part("stops", p.Duration)
	for i := range p.Pauses {
		t.part("pauses of the collector", p.Pauses[i].Duration)
	}
	if p.Safepoint {
		t.part("time to safepoint", p.Reaching)
		if len(p.Pauses) == 0 {
			t.part("other safepoints", p.Duration)
		}
	}
}

// show puts the distributions and the table of causes into a report.
func (t *tables) show(r *view.Report) {
	for _, name := range []string{"stops", "pauses of the collector", "other safepoints", "time to safepoint", "allocation stalls of single threads", "relocation stalls of single threads"} {
		if h := t.parts[name]; h != nil {
			r.Spreads = append(r.Spreads, spreadOf(name, "", h))
		}
	}
	r.Phases = t.phases.spreads()
	if h := t.parts["stops"]; h != nil {
		r.Bars = h.bars()
		r.Totals.Paused = seconds(h.sum)
	}
	for c, h := range t.tally {
		r.Causes = append(r.Causes, spreadOf(c.String(), c.kind, h))
	}
	bySum(r.Causes)
}

// causeOf returns the cause of a stop: that of its longest pause or, if it has no pause, the
// operation of the safepoint. The operation is also the cause if at least half of it, and at least
// floor, was outside the pauses, because the collector did not take that time.
func causeOf(p *pause.Stop, floor pause.Floor) cause {
	outside := p.Outside() >= floor.Duration() && p.Outside() >= p.At/2
	if len(p.Pauses) == 0 || outside {
		c := cause{kind: "safepoint", action: p.Operation}
		if p.Name != "" && p.Operation == pause.Other {
			c.action = p.Name
		}
		if outside {
			c.reason = "outside its pauses"
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

// kindOf returns the kind of a pause with the given action.
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
