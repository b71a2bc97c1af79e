package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
)

// selectionOf returns the selection of a raise, and its streams.
func selectionOf(r admin.Raise) string {
	if r.Stream == "" {
		return r.Selection
	}
	return r.Selection + " on " + r.Stream
}

// triggerState says whether a trigger is armed, and if not, why.
func triggerState(t admin.Trigger) string {
	state := "armed"
	if !t.Armed {
		state = "not armed"
		if t.QuietUntil.After(time.Now()) {
			state += " before " + printable.Until(t.QuietUntil)
		}
		if t.Disarmed != "" {
			state += ": " + t.Disarmed
		}
	}
	if t.Missed > 0 {
		state += fmt.Sprintf("; met %s times while not armed", printable.Count(t.Missed))
	}
	return state
}

// levelRows returns the lines about log levels, as key and value. It lists bad annotations below the raise in effect.
func levelRows(st admin.Status) [][2]string {
	var rows [][2]string
	row := func(key, format string, args ...any) {
		rows = append(rows, [2]string{key, fmt.Sprintf(format, args...)})
	}
	l, whyOff := st.Levels, "--attach off"
	if st.JVMUser != nil {
		whyOff = st.JVMUser.Advice
	}
	switch {
	case l == nil && st.JVMUser == nil:
		return nil
	case l == nil:
		l = &admin.Levels{Off: true}
	case st.JVMUser != nil && !l.Off:
		row("JVM user", "%s", whyOff)
	}
	state := "requested, but no JVM has it yet"
	if slices.ContainsFunc(l.JVMs, func(j admin.JVM) bool { return j.Applied != "" }) {
		state = "raised"
	}
	switch {
	case l.Off:
		row("log level", "the JVM's own: the sidecar does not change it (%s)", whyOff)
	case l.Raise == nil:
		row("log level", "the JVM's own")
	default:
		row("log level", "%s until %s, %s: %s", selectionOf(*l.Raise), printable.Until(l.Raise.Until), state, l.Raise.Why)
	}
	if l.App != nil {
		row("app level", "%s until %s", l.App.Level, printable.Until(l.App.Until))
	}
	for _, j := range l.JVMs {
		if j.Adopted != "" {
			row("JVM", "pid %d is adopted: it logs %s into the source", j.PID, j.Adopted)
		}
		if j.Applied != "" {
			row("JVM", "pid %d has %s on %d of its outputs", j.PID, j.Applied, len(j.Outputs))
		}
	}
	if t := l.Trigger; t != nil {
		row("trigger", "%s, %s", t.Conditions, triggerState(*t))
		if t.Never != "" {
			row("trigger", "%s", t.Never)
		}
	}
	for _, a := range l.Annotations {
		row("annotation", "%s %q: %s", a.Key, a.Value, a.Problem)
	}
	for _, e := range l.Errors {
		row("error", "%s", e)
	}
	return rows
}
