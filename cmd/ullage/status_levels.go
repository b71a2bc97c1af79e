package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/printable"
)

// levelRows returns the lines about log levels, as key and value. A bad
// annotation is listed beside the raise in effect.
func levelRows(l admin.Levels) [][2]string {
	var rows [][2]string
	row := func(key, format string, args ...any) {
		rows = append(rows, [2]string{key, fmt.Sprintf(format, args...)})
	}
	state := "wanted, and no JVM has it yet"
	if slices.ContainsFunc(l.JVMs, func(j admin.JVM) bool { return j.Applied != "" }) {
		state = "raised"
	}
	if l.Raise == nil {
		row("log level", "the JVM's own")
	} else {
		row("log level", "%s until %s, %s: %s", l.Raise.Selection, printable.Until(l.Raise.Until), state, l.Raise.Why)
	}
	for _, j := range l.JVMs {
		if j.Applied != "" {
			row("JVM", "pid %d has %s on %d of its outputs", j.PID, j.Applied, len(j.Outputs))
		}
	}
	if t := l.Trigger; t != nil {
		state := "armed"
		if !t.Armed {
			state = "not armed"
			if t.QuietUntil.After(time.Now()) {
				state += " before " + printable.Until(t.QuietUntil)
			}
		}
		row("trigger", "%s, %s", t.Conditions, state)
	}
	for _, a := range l.Annotations {
		row("annotation", "%s %q: %s", a.Key, a.Value, a.Problem)
	}
	for _, e := range l.Errors {
		row("error", "%s", e)
	}
	return rows
}
