package levels

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
	Until    time.Time // the end of the raise; zero for a restore

	reason   string        // of a raise; the value of a metric's label
	raise    ask.Selection // on top of the output's own, or that was
	by       string        // who asked for the change; empty: unknown
	restored bool

	// first: of the changes of one JVM in one update, this one is counted. Raises
	// and restores are counted for each JVM, not for each of its outputs.
	first bool
}

// changes returns the difference between the states before and after an update.
func (f *fleet) changes(before *state) []Change {
	var changes []Change
	for id, is := range f.state.JVMs {
		var from ask.Selection
		if was := before.JVMs[id]; was != nil && was.Stream == is.Stream {
			from = was.Applied
		}
		if is.Applied == from {
			continue
		}
		r := f.state.Raises[is.Cause]
		for i, o := range is.Outputs {
			changes = append(changes, Change{PID: is.PID, Output: o.Name, From: onTop(o, from), To: onTop(o, is.Applied),
				Why: r.Why, Until: r.Until, reason: r.Reason, raise: is.Applied, by: r.By, first: i == 0})
		}
	}
	for id, was := range before.JVMs {
		if is := f.state.JVMs[id]; is != nil && is.Stream == was.Stream || was.Applied.IsZero() || f.ended[id] {
			continue
		}
		for i, o := range was.Outputs {
			changes = append(changes, Change{PID: was.PID, Output: o.Name, From: onTop(o, was.Applied), To: o.Selection,
				Why: f.whyEnded(was.Cause), raise: was.Applied, by: f.state.Raises[was.Cause].EndedBy, restored: true, first: i == 0})
		}
	}
	clear(f.ended)
	slices.SortFunc(changes, func(a, b Change) int {
		switch {
		case a.PID == b.PID && a.restored && !b.restored:
			return -1 // the streams of an earlier raise are restored first
		case a.PID == b.PID && !a.restored && b.restored:
			return 1
		}
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Output, b.Output))
	})
	return changes
}

// mark returns the mark of a change.
func (c Change) mark() mark.Mark {
	kind, until := mark.LevelRaised, ""
	if c.restored {
		kind = mark.LevelRestored
	} else {
		until = shownEnd(c.Until)
	}
	stream := outputs.Stream(attach.JVM{PID: c.PID}, attach.Output{Name: c.Output})
	return mark.New(kind, "stream", stream, "pid", strconv.Itoa(c.PID), "selection", c.raise.String(), "why", c.Why, "by", c.by, "until", until)
}

// shownEnd returns the end of a raise as people see it. It is rounded up: the raise does
// not end earlier.
func shownEnd(t time.Time) string { return t.Add(time.Second - 1).UTC().Format(time.RFC3339) }

// onTop returns the selection of a raised output: its own selection with the
// raise on top.
func onTop(o attach.Output, raise ask.Selection) string {
	if raise.IsZero() {
		return o.Selection
	}
	return o.Selection + "," + raise.String()
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
	case ok && !r.over(time.Now()):
		return "another raise takes its place"
	case ok:
		return "its time is over"
	}
	return fmt.Sprintf("the %s is gone", cause)
}
