package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/line/mark"
)

// Change is one change of one output of a JVM.
type Change struct {
	PID      int
	Output   string
	From, To string // selections
	Why      string
	Until    time.Time // end of the raise; zero for a restore

	Reason   string `json:"-"` // of a raise; the value of a metric's label
	Restored bool   `json:"-"`
	Adoption bool   `json:"-"` // the JVM was given the output or, if Restored, no longer has it

	// First marks the only change of a JVM that is counted in an update: raises and restores are
	// counted for each JVM, not for each of its outputs.
	First bool `json:"-"`

	raise ask.Selection // the raise that is, or for a restore was, added to the output's own selection
	by    string        // process that asked for the change; empty: unknown
}

// Changes returns the difference between the states before and after an update.
func (p *Plan) Changes(before *State) []Change {
	var changes []Change
	for id, is := range p.State.JVMs {
		var from ask.Selection
		if was := before.JVMs[id]; was != nil && was.Stream == is.Stream {
			from = was.Applied
		}
		if is.Applied == from {
			continue
		}
		r := p.State.Raises[is.Cause]
		for i, o := range is.Outputs {
			changes = append(changes, Change{PID: is.PID, Output: o.Name, From: onTop(o, from), To: onTop(o, is.Applied),
				Why: r.Why, Until: r.Until, Reason: r.Reason, raise: is.Applied, by: r.By, First: i == 0})
		}
	}
	for id, was := range before.JVMs {
		if is := p.State.JVMs[id]; is != nil && is.Stream == was.Stream || was.Applied.IsZero() || p.ended[id] {
			continue
		}
		for i, o := range was.Outputs {
			changes = append(changes, Change{PID: was.PID, Output: o.Name, From: onTop(o, was.Applied), To: o.Selection,
				Why: p.whyEnded(was.Cause), raise: was.Applied, by: p.State.Raises[was.Cause].EndedBy, Restored: true, First: i == 0})
		}
	}
	changes = append(changes, p.Adoption.changes(before)...)
	clear(p.ended)
	slices.SortFunc(changes, func(a, b Change) int {
		switch {
		case a.PID == b.PID && a.Restored && !b.Restored:
			return -1 // the streams of an earlier raise are restored first
		case a.PID == b.PID && !a.Restored && b.Restored:
			return 1
		}
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Output, b.Output))
	})
	return changes
}

// Mark returns the mark of a change.
func (c Change) Mark() mark.Mark {
	kind, until := mark.LevelRaised, ""
	switch {
	case c.Adoption && c.Restored:
		kind = mark.JVMReleased
	case c.Adoption:
		kind = mark.JVMAdopted
	case c.Restored:
		kind = mark.LevelRestored
	default:
		until = ShownEnd(c.Until)
	}
	stream := outputs.Stream(attach.JVM{PID: c.PID}, attach.Output{Name: c.Output})
	return mark.New(kind, "stream", stream, "pid", strconv.Itoa(c.PID), "selection", c.raise.String(), "why", c.Why, "by", c.by, "until", until)
}

// ShownEnd returns the end of a raise as a text. The end is rounded up, so that the raise has ended
// at the time shown.
func ShownEnd(t time.Time) string { return t.Add(time.Second - 1).UTC().Format(time.RFC3339) }

// onTop returns the selection of a raised output: its own selection, followed by the raise.
func onTop(o attach.Output, raise ask.Selection) string {
	if raise.IsZero() {
		return o.Selection
	}
	return o.Selection + "," + raise.String()
}

// WhyDrained is the reason when raises end with the process.
const WhyDrained = "the sidecar drains"

// whyEnded returns the reason why a raise ended.
func (p *Plan) whyEnded(cause Cause) string {
	r, ok := p.State.Raises[cause]
	switch {
	case ok && r.Ended != "":
		return r.Ended
	case p.Draining:
		return WhyDrained
	case ok && !r.Over(time.Now()):
		return "another raise takes its place"
	case ok:
		return "its time is over"
	}
	return fmt.Sprintf("the %s is gone", cause)
}
