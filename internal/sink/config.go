package sink

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/sink/address"
)

// Config holds the settings of the sinks. The zero value has no sinks.
type Config struct {
	URLs address.URLs

	// UploadAge is the [store.Config.SegmentAge] of a sidecar with a sink of whole segments: the
	// log of a quiet JVM arrives within this time. Zero: the same age as without such a sink.
	UploadAge time.Duration

	// Formats are the rules of the source, so that a line has the same level everywhere. Not a
	// flag.
	Formats format.Rules

	// Pod is the pod of the JVM. Each of its fields may be empty.
	Pod Pod
}

// Pod names the container whose log a sidecar ships, for the sinks.
type Pod struct {
	Namespace, Name, Container string
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{UploadAge: 5 * time.Minute} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.Var(&c.URLs, "sink", "also copy durable lines to this `URL`; repeat the flag, or separate several by spaces; see "+build.Docs+"sinks.md")
	settings.DurationVar(fs, &c.UploadAge, "upload-age", c.UploadAge, "seal a segment after this `DURATION` if a sink takes whole segments; 0: after an hour, as without such a sink")
	fs.StringVar(&c.Pod.Namespace, "pod-namespace", c.Pod.Namespace, "`NAMESPACE` of the pod, for sinks")
	fs.StringVar(&c.Pod.Name, "pod-name", c.Pod.Name, "`NAME` of the pod, for sinks")
	fs.StringVar(&c.Pod.Container, "container-name", c.Pod.Container, "`NAME` of the JVM's container, for sinks")
}

// Validate returns one error for each setting that cannot work with kinds, whose keys are the
// schemes of the URLs. If kinds is nil, Validate does not look at the files that options name.
func (c Config) Validate(kinds map[string]Kind) []error {
	var bad []error
	if c.UploadAge < 0 {
		bad = append(bad, errors.New("--upload-age must not be negative (0: an hour)"))
	}
	all, wrong := address.ParseAll(c.URLs, schemes(kinds))
	for _, a := range all {
		if err := check(kinds, c.target(a)); err != nil {
			bad = append(bad, fmt.Errorf("--sink %s: %w", address.Redact(a.Text), err))
		}
	}
	return append(bad, wrong...)
}

// schemes returns the schemes of the kinds, or all schemes if kinds is nil.
func schemes(kinds map[string]Kind) []string {
	if kinds == nil {
		return address.Schemes()
	}
	return slices.Collect(maps.Keys(kinds))
}

// check creates the sink and discards it, so that an incomplete URL is reported at the start.
func check(kinds map[string]Kind, t Target) error {
	if kinds == nil {
		return nil
	}
	s, err := kinds[t.URL.Scheme].Open(t)
	if err != nil {
		return err
	}
	return s.Close()
}

// SealAfter reports whether a sink takes whole segments. age is the age at which a segment is
// sealed for such a sink; zero: the same as without one.
func (c Config) SealAfter(kinds map[string]Kind) (age time.Duration, whole bool) {
	for _, u := range c.URLs {
		if scheme, _, _ := strings.Cut(u, ":"); kinds[strings.ToLower(scheme)].Segments {
			return c.UploadAge, true
		}
	}
	return 0, false
}

// Kind creates the sinks of one scheme.
type Kind struct {
	Segments bool // the sinks take whole segments instead of lines

	// Linger is the least time between two looks for lines once a sink has all lines. It
	// bounds the cost of deliveries while lines arrive slowly. Zero: no pause.
	Linger time.Duration

	// Open creates the sink for a URL of the scheme and does all checks that need no connection.
	// Its only I/O is reading the files that the URL names. If such a file or a variable does not
	// exist, Open succeeds, and deliveries fail.
	Open func(Target) (Sink, error)
}

// Target is a parsed --sink.
type Target struct {
	Name    string   // in metrics, logs and the status
	URL     *url.URL // without its query
	Options address.Options
	Pod     Pod
	Formats format.Rules
}

// target returns the target for an address.
func (c Config) target(a address.Address) Target {
	return Target{Name: a.Name, URL: a.URL, Pod: c.Pod, Formats: c.Formats, Options: a.Options}
}
