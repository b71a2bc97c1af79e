package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
)

// version is set by the linker (-X main.version=v1.2.3). Empty means that the
// module version in the build information counts.
var version string

const versionAbout = `kubectl ullage version prints what this program was built from. The sidecars'
versions are in 'kubectl ullage status --json'.

Usage:
  kubectl ullage version

Example:
  kubectl ullage version
`

func versionCmd(_ context.Context, args []string, e env, _ cluster) int {
	fs := flag.NewFlagSet("version", flag.ContinueOnError)
	if code, ok := e.parse(fs, versionAbout, args, cli.Unexpected); !ok {
		return code
	}
	b := build.Read(version)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"version:", b.Version}, {"revision:", b.Revision}, {"date:", b.Date}, {"go:", b.Go}, {"platform:", b.Platform},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	_ = w.Flush() // a Builder takes everything
	return e.print("version", text.String())
}
