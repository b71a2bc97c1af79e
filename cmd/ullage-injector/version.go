package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/build"
)

// version is set by the linker (-X main.version=v1.2.3). Empty means that the
// module version in the build information counts.
var version string

const versionAbout = `ullage-injector version prints what this program was built from.

Usage:
  ullage-injector version [--json]
`

func versionCmd(_ context.Context, args []string, e env) int {
	fs := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print JSON")
	if code, ok := e.parse(fs, versionAbout, args, func() []error { return noArgs(fs) }); !ok {
		return code
	}
	b := build.Read(version)
	if *asJSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(b); err != nil {
			return e.fail("version", fmt.Errorf("write the answer: %w", err))
		}
		return exitOK
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"version:", b.Version}, {"revision:", b.Revision}, {"date:", b.Date}, {"go:", b.Go}, {"platform:", b.Platform},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := w.Flush(); err != nil {
		return e.fail("version", fmt.Errorf("write the answer: %w", err))
	}
	return exitOK
}
