package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/base/build"
)

const versionAbout = `PROGRAM version prints the program's version and build.

Usage:
  PROGRAM version [--json]

Example:
  PROGRAM version --json
`

// Version returns the command that prints the version and build information of the program.
// linked is the version that the linker has set.
func Version(linked string) Command {
	return Command{Name: "version", Summary: "print the program's version and build",
		Run: func(_ context.Context, args []string, e Env) int { return e.version(args, linked) }}
}

func (e Env) version(args []string, linked string) int {
	about := strings.ReplaceAll(versionAbout, "PROGRAM", e.Program)
	fs := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := new(bool)
	JSONFlags(fs, asJSON, "print JSON")
	if code, ok := e.Parse(fs, about, args, func() []error { return Unexpected(fs.Args()) }); !ok {
		return code
	}
	b := build.Read(linked)
	if *asJSON {
		out := json.NewEncoder(e.Stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(b); err != nil {
			return e.Fail("version", fmt.Errorf("write the answer: %w", err))
		}
		return OK
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"version:", b.Version}, {"revision:", b.Revision}, {"date:", b.Date}, {"go:", b.Go}, {"platform:", b.Platform},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := w.Flush(); err != nil {
		return e.Fail("version", fmt.Errorf("write the answer: %w", err))
	}
	return OK
}
