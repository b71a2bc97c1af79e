// Package address parses the URLs of sinks without linking the sinks, so that programs which
// only check a setting can use it on every system.
package address

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/build"
)

// most bounds how many sinks a sidecar feeds: each has its own goroutine, buffer and metrics.
const most = 8

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
		shown = append(shown, Redact(one))
	}
	return strings.Join(shown, " ")
}

// Address is a parsed --sink.
type Address struct {
	Text    string   // the original text, which may hold a password by mistake, see [Redact]
	Name    string   // in metrics, logs and the status
	URL     *url.URL // without its query
	Options Options  // from the query, including the name
}

// Schemes returns the schemes of all kinds of sinks.
func Schemes() []string { return slices.Sorted(maps.Keys(kinds)) }

// Credentials returns the environment variables from which the sinks of a scheme read secrets.
func Credentials(scheme string) []string { return kinds[scheme].credentials }

// ParseAll parses all values of --sink. It returns one error for each value that cannot work.
func ParseAll(texts, schemes []string) (all []Address, bad []error) {
	if len(texts) > most {
		bad = append(bad, fmt.Errorf("--sink is set %d times, at most %d are allowed", len(texts), most))
	}
	names := map[string]bool{}
	for _, text := range texts {
		a, err := Parse(text, schemes)
		if err == nil && names[a.Name] {
			err = fmt.Errorf("another sink is also named %q: give each its own name=NAME", a.Name)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("--sink %s: %w", Redact(text), err))
			continue
		}
		names[a.Name] = true
		all = append(all, a)
	}
	return all, bad
}

// Parse parses a --sink whose scheme must be one of schemes. It checks the options, but not the files
// that they name.
func Parse(text string, schemes []string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, errors.New("not a URL") // the error of url.Parse quotes text that may be secret
	}
	if scheme, _, _ := strings.Cut(u.Scheme, "+"); scheme == "opensearch" {
		return Address{}, errors.New("the OpenSearch sink was removed: send the lines to an OpenTelemetry Collector (otlp+https:), which can index each of them once; see " + build.Docs + "sinks.md#opensearch-and-elasticsearch")
	}
	if !slices.Contains(schemes, u.Scheme) {
		return Address{}, fmt.Errorf("unknown scheme %q: use %s", u.Scheme, strings.Join(Schemes(), ": or ")+":")
	}
	if u.User != nil {
		return Address{}, errors.New("a URL must not hold a user or password, since every process of the node can see it: use the environment or a file")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New("the part after the question mark is not a list of options")
	}
	a := Address{Text: text, Name: u.Scheme, URL: u, Options: NewOptions(query)}
	u.RawQuery, u.Fragment = "", ""
	if name := a.Options.Text("name", "", "the name of the sink in metrics, in `ullage status` and in logs"); name != "" {
		if !validName(name) {
			return Address{}, fmt.Errorf("name %q: use up to 40 lower-case letters, digits, dashes and dots", name)
		}
		a.Name = name
	}
	if k, ours := kinds[u.Scheme]; ours { // tests have schemes of their own
		err = k.check(u, &a.Options)
	}
	return a, err
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

// Redact returns a URL in a form that logs may show: without its options, which may contain a
// password by mistake.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		scheme, _, _ := strings.Cut(text, ":")
		return scheme + ":..."
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
