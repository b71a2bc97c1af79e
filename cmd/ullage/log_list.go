package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/levels"
	"github.com/ullage/ullage/internal/printable"
)

// printList prints the outputs as a table. It escapes names, which the
// application chose.
func printList(w io.Writer, listed []levels.Listed) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PID\tOUTPUT\tSELECTION\tDECORATORS\tOPTIONS\tSHIPPED")
	for _, l := range listed {
		for _, o := range l.Outputs {
			shipped := "no"
			switch {
			case o.Problem != "":
				shipped = "not changed: " + o.Problem
			case o.Raised != "":
				shipped = "yes, raised"
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

// listedJSON is one output, for programs.
type listedJSON struct {
	PID        int    `json:"pid"`
	Index      int    `json:"index"`
	Output     string `json:"output"`
	Selection  string `json:"selection"`
	Decorators string `json:"decorators"`
	Options    string `json:"options"`
	Shipped    bool   `json:"shipped"`
	Raised     string `json:"raised,omitempty"` // the selection on top of the own one
	Error      string `json:"error,omitempty"`  // why the output is not changed
}

// printListJSON prints the outputs as JSON. It escapes what a terminal would
// interpret in the names, which the application chose.
func printListJSON(w io.Writer, listed []levels.Listed) error {
	all := []listedJSON{}
	for _, l := range listed {
		for _, o := range l.Outputs {
			all = append(all, listedJSON{PID: l.PID, Index: o.Index, Output: o.Name, Selection: o.Selection, Decorators: o.Decorators,
				Options: o.Options, Shipped: o.Shipped, Raised: o.Raised, Error: o.Problem})
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err = fmt.Fprintln(w, printable.JSON(string(text)))
	return err
}
