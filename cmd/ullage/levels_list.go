package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/ship/ring"
)

// printList prints the JVMs and their outputs as two tables. It escapes the names, because the application chose
// them.
func printList(w io.Writer, listed []outputs.Listed) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PID\tJVM\tVERSION\tCOLLECTOR\tUP")
	outputs := 0
	for _, l := range listed {
		name, up := l.JVM.Main, ""
		if l.Stale {
			name = "none: no process listens on the socket (stale)"
		}
		if l.JVM.Uptime > 0 {
			up = printable.Seconds(l.JVM.Uptime.Seconds())
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", l.PID, cmp.Or(printable.Line(name), "-"), cmp.Or(printable.Line(l.JVM.Version), "-"), cmp.Or(printable.Line(l.JVM.Collector), "-"), cmp.Or(up, "-"))
		outputs += len(l.Outputs)
	}
	if err := t.Flush(); err != nil || outputs == 0 {
		return err
	}
	fmt.Fprintln(t, "\nPID\tOUTPUT\tSELECTION\tDECORATORS\tOPTIONS\tSHIPPED")
	for _, l := range listed {
		for _, o := range l.Outputs {
			shipped := "no"
			switch {
			case o.Problem != "":
				shipped = "not changed: " + o.Problem
			case o.Raised != "":
				shipped = "yes, raised"
			case o.Shipped && o.ByName:
				shipped = "yes, raised only by --stream: no level in its lines"
			case o.Shipped:
				shipped = "yes"
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", l.PID, printable.Line(o.Name), printable.Line(o.Selection), printable.Line(o.Decorators), cmp.Or(printable.Line(o.Options), "-"), printable.Line(shipped))
		}
	}
	return t.Flush()
}

// printRings prints the rings of the source as a table, with a blank line before the table if another one
// precedes it.
func printRings(w io.Writer, rings []ring.Surveyed, behind bool) error {
	if len(rings) == 0 {
		return nil
	}
	if behind {
		fmt.Fprintln(w)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PID\tRING\tSIZE\tUSED\tREFUSED\tRAISED TO")
	for _, r := range rings {
		if r.Problem != "" {
			fmt.Fprintf(t, "-\t%s\t%s\n", printable.Line(r.Name), printable.Line(r.Problem))
			continue
		}
		raised := ""
		if !r.Raised.IsZero() {
			raised = r.Raised.String()
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", r.PID, r.Name, printable.Bytes(r.Capacity), printable.Bytes(r.Used), printable.Count(int64(r.Refused)), cmp.Or(raised, "-"))
	}
	return t.Flush()
}

// listedJSON is one output of a JVM, or its ring, for programs. A stale socket has neither.
type listedJSON struct {
	PID           int     `json:"pid"`
	Main          string  `json:"main,omitempty"` // the main class or jar
	Version       string  `json:"version,omitempty"`
	Collector     string  `json:"collector,omitempty"`
	UptimeSeconds float64 `json:"uptimeSeconds,omitempty"`
	Stale         bool    `json:"stale,omitempty"` // no process listens on the socket

	Index      int    `json:"index"`
	Output     string `json:"output"`
	Selection  string `json:"selection"`
	Decorators string `json:"decorators"`
	Options    string `json:"options"`
	Shipped    bool   `json:"shipped"`
	Raised     string `json:"raised,omitempty"` // the selection in addition to the output's own
	ByName     bool   `json:"byName,omitempty"` // raised only by a raise that names its stream: its lines show no level
	Error      string `json:"error,omitempty"`  // why the output is not changed

	Ring *ringJSON `json:"ring,omitempty"` // instead of an output
}

// ringJSON is a ring, with sizes in bytes.
type ringJSON struct {
	Name     string `json:"name"`
	Capacity int64  `json:"capacity"`
	Used     int64  `json:"used"`
	Refused  uint64 `json:"refused"`
	Raised   string `json:"raised,omitempty"` // the levels to which the events of its JVM are raised
	Error    string `json:"error,omitempty"`  // why it could not be read
}

// printListJSON prints the outputs as JSON, each with its JVM. In the names, which the application chose, it escapes
// characters that a terminal would interpret.
func printListJSON(w io.Writer, listed []outputs.Listed, rings []ring.Surveyed) error {
	all := []listedJSON{}
	for _, l := range listed {
		one := listedJSON{PID: l.PID, Main: l.JVM.Main, Version: l.JVM.Version, Collector: l.JVM.Collector, UptimeSeconds: l.JVM.Uptime.Seconds(), Stale: l.Stale}
		if l.Stale {
			all = append(all, one)
		}
		for _, o := range l.Outputs {
			one.Index, one.Output, one.Selection, one.Decorators, one.Options = o.Index, o.Name, o.Selection, o.Decorators, o.Options
			one.Shipped, one.Raised, one.ByName, one.Error = o.Shipped, o.Raised, o.ByName, o.Problem
			all = append(all, one)
		}
	}
	for _, r := range rings {
		one := &ringJSON{Name: r.Name, Capacity: r.Capacity, Used: r.Used, Refused: r.Refused, Error: r.Problem}
		if !r.Raised.IsZero() {
			one.Raised = r.Raised.String()
		}
		all = append(all, listedJSON{PID: int(r.PID), Ring: one})
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err = fmt.Fprintln(w, printable.JSON(string(text)))
	return err
}
