package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

// show prints what the JVMs log: once, as text or JSON, or, with -w, until it is interrupted.
func (c *levelsConfig) show(ctx context.Context, e cli.Env) int {
	s := survey{cluster: c.cluster, json: c.json, watch: c.watch, levels: true}
	if c.target != (target{}) {
		s.targets = []target{c.target}
	}
	_, code := s.show(ctx, e, "levels", func(answers []answer) string {
		var b strings.Builder
		for _, a := range answers {
			text := levelsText([]answer{a})
			if a.err != nil {
				text = problems(a) + "\n"
			}
			b.WriteString(indented(printable.Line(a.of.pod), text))
		}
		return b.String()
	})
	return code
}

// levelsText renders the levels of one pod, in a block for each sidecar.
func levelsText(answers []answer) string {
	var blocks []string
	for _, a := range answers {
		var b strings.Builder
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		if a.of.several {
			fmt.Fprintf(t, "sidecar:\t%s\n", printable.Line(a.of.container.Name))
		}
		for _, row := range levelRows(a.status) {
			fmt.Fprintf(t, "%s:\t%s\n", row[0], printable.Line(row[1]))
		}
		_ = t.Flush() // a write to a Builder never fails
		blocks = append(blocks, b.String())
	}
	return strings.Join(blocks, "\n")
}

// levelRows returns the lines of one sidecar as keys and values.
func levelRows(st admin.Status) [][2]string {
	var rows [][2]string
	row := func(key, format string, args ...any) {
		rows = append(rows, [2]string{key, fmt.Sprintf(format, args...)})
	}
	l := st.Levels
	if l == nil {
		row("log level", "the JVM's own: the sidecar does not change it (--attach off)")
		return rows
	}
	switch r := l.Raise; {
	case l.Off:
		row("log level", "the JVM's own: the sidecar does not change it (--attach off)")
	case r == nil:
		row("log level", "the JVM's own")
	default:
		left := max(0, r.Until.Sub(st.Now()).Round(time.Second))
		selection := r.Selection
		if r.Stream != "" {
			selection += " on " + r.Stream
		}
		row("log level", "%s until %s, in %s: %s", selection, printable.Until(r.Until), left, r.Why)
	}
	if a := l.App; a != nil {
		row("app level", "%s until %s", a.Level, printable.Until(a.Until))
	}
	for _, j := range l.JVMs {
		switch {
		case j.Applied != "":
			row("JVM", "pid %d has %s on %s", j.PID, j.Applied, strings.Join(j.Outputs, ", "))
		case j.Error == "":
			row("JVM", "pid %d has its own level", j.PID)
		}
	}
	if t := l.Trigger; t != nil {
		state := "armed"
		if !t.Armed {
			state = "not armed"
		}
		if t.Disarmed != "" {
			state += ": " + t.Disarmed
		}
		if t.Never != "" {
			state += "; " + t.Never
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
