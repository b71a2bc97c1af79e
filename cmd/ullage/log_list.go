package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/levels"
	"github.com/ullage/ullage/internal/printable"
)

// printList prints the JVMs and their outputs as two tables. It escapes names,
// which the application chose.
func printList(w io.Writer, listed []levels.Listed) error {
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
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", l.PID, dash(printable.Line(name)), dash(printable.Line(l.JVM.Version)), dash(printable.Line(l.JVM.Collector)), dash(up))
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
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", l.PID, printable.Line(o.Name), printable.Line(o.Selection), printable.Line(o.Decorators), dash(printable.Line(o.Options)), printable.Line(shipped))
		}
	}
	return t.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// listedJSON is one output of a JVM, for programs. A stale socket has no output.
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
	Raised     string `json:"raised,omitempty"` // the selection on top of the own one
	ByName     bool   `json:"byName,omitempty"` // raised only by a raise that names its stream: its lines show no level
	Error      string `json:"error,omitempty"`  // why the output is not changed
}

// printListJSON prints the outputs as JSON, each with its JVM. It escapes what a terminal would
// interpret in the names, which the application chose.
func printListJSON(w io.Writer, listed []levels.Listed) error {
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
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err = fmt.Fprintln(w, printable.JSON(string(text)))
	return err
}
