package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
)

// version is set by the linker (-X main.version=v1.2.3). Empty means that the
// module version in the build information counts.
var version string

const versionAbout = `ullage version prints what this program was built from.

Usage:
  ullage version [--json]
`

// build says what a binary was built from. Revision and Date are empty where
// it was not built in a git checkout.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the commit, with "-dirty" where files differed from it
	Date     string `json:"date,omitempty"`     // of the commit, so that a build can be repeated
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild reads the build information of the running binary.
func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	return b
}

func (b *build) read(info *debug.BuildInfo) {
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "-dirty"
			}
		}
	}
	if b.Revision != "" {
		b.Revision += dirty
	}
}

func versionCmd(_ context.Context, args []string, e env) int {
	fs := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print JSON")
	if code, ok := e.parse(fs, versionAbout, args, func() []error { return noArgs(fs) }); !ok {
		return code
	}
	b := thisBuild()
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
