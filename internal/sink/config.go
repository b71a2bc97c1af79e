package sink

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/format"
)

// maxSinks bounds how many sinks a sidecar feeds: each has a goroutine, a buffer and
// metrics of its own.
const maxSinks = 8

// Config holds the settings of the sinks. The zero value has no sinks.
type Config struct {
	URLs    URLs
	Require bool // a sink that fails makes the sidecar unready

	// UploadAge is the [store.Config.SegmentAge] of a sidecar with a sink of whole segments:
	// the log of a quiet JVM arrives within this time. Zero: the age of a sidecar without
	// such a sink.
	UploadAge time.Duration

	// Formats are the rules of the source, so that a line has one level everywhere. They
	// are not a flag.
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
	fs.Var(&c.URLs, "sink", "also copy what is durable to this `URL`; repeat it, or separate several by spaces; see "+build.Docs+"sinks.md")
	fs.BoolVar(&c.Require, "require-sink", c.Require, "not ready while a sink fails")
	settings.DurationVar(fs, &c.UploadAge, "upload-age", c.UploadAge, "seal a segment after this `DURATION` where a sink takes whole segments; 0: an hour, as without such a sink")
	fs.StringVar(&c.Pod.Namespace, "pod-namespace", c.Pod.Namespace, "`NAMESPACE` of the pod, for sinks")
	fs.StringVar(&c.Pod.Name, "pod-name", c.Pod.Name, "`NAME` of the pod, for sinks")
	fs.StringVar(&c.Pod.Container, "container-name", c.Pod.Container, "`NAME` of the JVM's container, for sinks")
}

// Schemes returns the schemes of all kinds of sinks. It is a list because programs that only
// check settings do not link the sinks.
func Schemes() []string {
	return []string{"kafka", "otlp+http", "otlp+https", "s3", "stdout"}
}

// Credentials returns the environment variables from which the sinks of a scheme read secrets.
func Credentials(scheme string) []string {
	switch scheme {
	case "kafka":
		return []string{"KAFKA_USERNAME", "KAFKA_PASSWORD"}
	case "otlp+http", "otlp+https":
		return []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"}
	case "s3":
		return []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
	}
	return nil
}

// Validate returns one error for each setting that cannot work with these kinds. Their keys
// are the schemes of the URLs. If kinds is nil, Validate checks no options.
func (c Config) Validate(kinds map[string]Kind) []error {
	var bad []error
	if len(c.URLs) > maxSinks {
		bad = append(bad, fmt.Errorf("--sink is given %d times, at most %d are allowed", len(c.URLs), maxSinks))
	}
	if c.UploadAge < 0 {
		bad = append(bad, errors.New("--upload-age must not be negative (0: an hour)"))
	}
	names := map[string]bool{}
	for _, u := range c.URLs {
		t, err := c.target(u, kinds)
		if err == nil && names[t.Name] {
			err = fmt.Errorf("another sink has the name %q too: give each a name=... of its own", t.Name)
		}
		if err == nil {
			names[t.Name] = true
			err = check(kinds, t)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("--sink %s: %w", redact(u), err))
		}
	}
	return bad
}

// check makes the sink and drops it, so that an incomplete URL is reported at the start.
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

// SealAfter reports whether a sink takes whole segments. age is when a segment is sealed for it;
// zero: as without such a sink.
func (c Config) SealAfter(kinds map[string]Kind) (age time.Duration, whole bool) {
	for _, u := range c.URLs {
		if scheme, _, _ := strings.Cut(u, ":"); kinds[scheme].Segments {
			return c.UploadAge, true
		}
	}
	return 0, false
}

// URLs are the values of --sink. It implements [flag.Value].
type URLs []string

// Set adds the URLs in text, which are separated by spaces.
func (u *URLs) Set(text string) error {
	*u = append(*u, strings.Fields(text)...)
	return nil
}

func (u *URLs) String() string {
	shown := make([]string, 0, len(*u))
	for _, one := range *u {
		shown = append(shown, redact(one))
	}
	return strings.Join(shown, " ")
}

// Kind makes the sinks of one scheme.
type Kind struct {
	Segments bool // the sinks take whole segments instead of lines

	// Linger is the least time between two looks for more lines once a sink has all of
	// them. It bounds the cost of deliveries while lines arrive slowly. Zero: no pause.
	Linger time.Duration

	// Open makes the sink for a URL of the scheme and makes all checks that need no
	// connection. Its only I/O is to read the files that the URL names.
	Open func(Target) (Sink, error)
}

// Target is a parsed --sink.
type Target struct {
	Name    string   // in metrics, logs and the status
	URL     *url.URL // without its query
	Options Options
	Pod     Pod
	Formats format.Rules
}

// validName reports whether name is a valid name=...: it becomes the name of a file and the
// label of a metric. (A regular expression would take 30 KiB in each sidecar, even without
// sinks.)
func validName(name string) bool {
	for _, c := range []byte(name) {
		if !alphanumeric(c) && c != '.' && c != '-' {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 40 && alphanumeric(name[0]) && alphanumeric(name[len(name)-1])
}

func alphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// target parses a --sink.
func (c Config) target(text string, kinds map[string]Kind) (Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Target{}, errors.New("not a URL") // the error of url.Parse quotes text that may be secret
	}
	if scheme, _, _ := strings.Cut(u.Scheme, "+"); scheme == "opensearch" {
		return Target{}, errors.New("the OpenSearch sink was removed: send the lines to an OpenTelemetry Collector (otlp+https:), which can index each of them once; see " + build.Docs + "sinks.md#opensearch-and-elasticsearch")
	}
	if !known(u.Scheme, kinds) {
		return Target{}, fmt.Errorf("unknown scheme %q: use %s", u.Scheme, strings.Join(Schemes(), ": or ")+":")
	}
	if u.User != nil {
		return Target{}, errors.New("a URL must not hold a user or password, since every process of the node can see it: use the environment or a file")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Target{}, errors.New("the part after the question mark is not a list of options")
	}
	t := Target{Name: u.Scheme, Pod: c.Pod, Formats: c.Formats, Options: NewOptions(query)}
	u.RawQuery, u.Fragment = "", ""
	t.URL = u
	if name := t.Options.Text("name", "", "the name of the sink in metrics, in `ullage status` and in logs"); name != "" {
		if !validName(name) {
			return Target{}, fmt.Errorf("name %q: use up to 40 lower-case letters, digits, dashes and dots", name)
		}
		t.Name = name
	}
	return t, nil
}

func known(scheme string, kinds map[string]Kind) bool {
	if kinds == nil {
		return slices.Contains(Schemes(), scheme)
	}
	return kinds[scheme].Open != nil
}

// redact returns a URL as logs may show it: without its options, which may contain a password
// by mistake.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		scheme, _, _ := strings.Cut(text, ":")
		return scheme + ":..."
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
