package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

const chartDir = "charts/ullage"

// chart is the Helm chart of a version, packed as `helm package` does, except for the
// times: helm uses the time of the build.
type chart struct {
	version string
	archive []byte
	config  []byte // Chart.yaml as JSON, which a registry stores alongside the archive
}

func (c chart) fileName() string { return "ullage-" + c.version + ".tgz" }

// The lines of Chart.yaml that a release changes.
var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// The line of values.yaml that names the registry of the images.
var chartRegistry = regexp.MustCompile(`(?m)^registry: ""$`)

// chart packs the chart. The chart has the release's version and names the release's
// images in registry, so that it can be installed without any value.
func (s source) chart(registry string) (chart, error) {
	c := chart{version: s.version}
	root := filepath.Join(s.root, chartDir)
	ignored, err := s.read(chartDir + "/.helmignore")
	if err != nil {
		return c, err
	}
	var entries []entry
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || matches(string(ignored), d.Name()) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if rel == "Chart.yaml" {
			data = s.annotate(chartVersions.ReplaceAll(data, []byte("$1: "+s.version)), registry)
			if c.config, err = yaml.YAMLToJSON(data); err != nil {
				return err
			}
		}
		if rel == "values.yaml" {
			if len(chartRegistry.FindAll(data, -1)) != 1 {
				return fmt.Errorf("%s does not have exactly one line %s", name, chartRegistry)
			}
			data = chartRegistry.ReplaceAllLiteral(data, []byte("registry: "+registry))
		}
		entries = append(entries, entry{path.Join("ullage", filepath.ToSlash(rel)), 0o644, data})
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("read the chart: %w", err)
	}
	if c.archive, err = tarball(entries, s.date); err != nil {
		return c, fmt.Errorf("pack the chart: %w", err)
	}
	return c, nil
}

// annotate adds to Chart.yaml the annotations that Artifact Hub shows for a release. They
// are the last block of the file.
func (s source) annotate(about []byte, registry string) []byte {
	about = append(about, "  artifacthub.io/prerelease: \""+strconv.FormatBool(strings.Contains(s.version, "-"))+"\"\n  artifacthub.io/images: |\n"...)
	for _, t := range allTargets {
		if t.image {
			about = fmt.Appendf(about, "    - name: %[1]s\n      image: %[2]s/%[1]s:%[3]s\n", t.program, registry, s.version)
		}
	}
	return about
}

// matches reports whether a file's name matches a pattern of .helmignore. All patterns of
// the chart apply to names.
func matches(patterns, name string) bool {
	for pattern := range strings.Lines(patterns) {
		if ok, _ := path.Match(strings.TrimSpace(pattern), name); ok {
			return true
		}
	}
	return false
}
