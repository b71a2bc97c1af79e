// Package build says what a binary was built from.
package build

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values that the linker sets if the go command can't see the git checkout, as in the
// build of an image: -X github.com/ullage/ullage/internal/base/build.revision=…
var (
	revision  string // of the commit, with "-dirty" where files differed from it
	committed string // time of the commit, in seconds since 1970
)

// Docs is the address of the documentation, for hints and help: containers do not have its
// files.
const Docs = "https://github.com/ullage/ullage/blob/main/docs/"

// Info says what a binary was built from. Revision and Date are empty if the binary was
// not built in a git checkout and the linker did not set them.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the commit, with "-dirty" where files differed from it
	Date     string `json:"date,omitempty"`     // of the commit, not of the build, so that builds are reproducible
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns what the running binary was built from. version is the value
// given to the linker (-X main.version=v1.2.3); if that is empty, the module
// version in the build information is used.
func Read(version string) Info {
	b := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if b.Revision == "" {
		b.Revision, b.Date = revision, date(committed)
	}
	return b
}

// date renders a number of seconds since 1970 as the go command does. Anything that is not such
// a number, or cannot be the time of a commit, is discarded.
func date(seconds string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n <= 0 {
		return ""
	}
	return time.Unix(n, 0).UTC().Format(time.RFC3339)
}

func (b *Info) read(info *debug.BuildInfo) {
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

// Metric returns the metric that shows what is running. Its name is
// "ullage_build_info" for the sidecar.
func (b Info) Metric(name string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        name,
		Help:        "1; the labels hold the version and the revision of the program.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": strings.TrimPrefix(b.Go, "go")},
	})
	g.Set(1)
	return g
}
