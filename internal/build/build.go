// Package build says what a binary was built from.
package build

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Info says what a binary was built from. Revision and Date are empty where
// it was not built in a git checkout.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the commit, with "-dirty" where files differed from it
	Date     string `json:"date,omitempty"`     // of the commit, so that a build can be repeated
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns what the running binary was built from. Version is what the
// linker was told (-X main.version=v1.2.3); where that is empty, the module
// version in the build information counts.
func Read(version string) Info {
	b := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	return b
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

// Metric returns the metric that says what is running: name is
// "ullage_build_info" for the sidecar.
func (b Info) Metric(name string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        name,
		Help:        "1, with what the program was built from as labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": strings.TrimPrefix(b.Go, "go")},
	})
	g.Set(1)
	return g
}
