package levels

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/attach"
)

// Change is one change of one output of a JVM.
type Change struct {
	PID      int
	Output   string
	From, To string // selections
	Why      string
	Until    time.Time // the end of the raise; zero for a restore

	reason   string // of a raise; the value of a metric's label
	restored bool

	// first: of the changes of one JVM in one update, this one is counted. Raises
	// and restores are counted for each JVM, not for each of its outputs.
	first bool
}

// changes returns the difference between the states before and after an update.
func (f *fleet) changes(before *state) []Change {
	var changes []Change
	for id, is := range f.state.JVMs {
		from := ""
		if was := before.JVMs[id]; was != nil {
			from = was.Applied
		}
		if is.Applied == from {
			continue
		}
		r := f.state.Raises[is.Cause]
		for i, o := range is.Outputs {
			changes = append(changes, Change{PID: is.PID, Output: o.Name, From: onTop(o, from), To: onTop(o, is.Applied),
				Why: r.Why, Until: r.Until, reason: r.Reason, first: i == 0})
		}
	}
	for id, was := range before.JVMs {
		if f.state.JVMs[id] != nil || was.Applied == "" || f.ended[id] {
			continue
		}
		for i, o := range was.Outputs {
			changes = append(changes, Change{PID: was.PID, Output: o.Name, From: onTop(o, was.Applied), To: o.Selection,
				Why: f.whyEnded(was.Cause), restored: true, first: i == 0})
		}
	}
	clear(f.ended)
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Output, b.Output))
	})
	return changes
}

// onTop returns the selection of a raised output: its own selection with the
// raise on top.
func onTop(o attach.Output, raise string) string {
	if raise == "" {
		return o.Selection
	}
	return o.Selection + "," + raise
}

const whyDrained = "the sidecar drains"

// whyEnded returns why a raise ended.
func (f *fleet) whyEnded(cause Cause) string {
	r, ok := f.state.Raises[cause]
	switch {
	case ok && r.Ended != "":
		return r.Ended
	case f.draining:
		return whyDrained
	case ok:
		return "its time is over"
	}
	return fmt.Sprintf("the %s is gone", cause)
}
