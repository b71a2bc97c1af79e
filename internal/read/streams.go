package read

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
)

// Streams is a pattern for the names of streams. Empty: it matches every stream.
type Streams string

// Validate returns an error if s is not a valid pattern.
func (s Streams) Validate() error {
	if _, err := path.Match(string(s), ""); err != nil {
		return fmt.Errorf("invalid value %q for --stream: it is not a pattern like 'gc*.log'", string(s))
	}
	return nil
}

// Match reports whether a stream is wanted.
func (s Streams) Match(stream string) bool {
	ok, _ := path.Match(string(s), stream)
	return s == "" || ok
}

// maxNamed bounds how many streams one message lists.
const maxNamed = 20

// Unmatched returns the error for a pattern that matches none of the streams.
func (s Streams) Unmatched(names []string) error {
	slices.Sort(names)
	names = slices.Compact(names)
	return fmt.Errorf("no stream matches %s: %s%s", printable.Name(string(s)), thereIs(names), settings.DidYouMean(string(s), "", names))
}

// thereIs lists the streams that exist.
func thereIs(names []string) string {
	if len(names) == 0 {
		return "there are no streams"
	}
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = printable.Name(name)
	}
	return "there are " + strings.Join(list, ", ") + more
}
