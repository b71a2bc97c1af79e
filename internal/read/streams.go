package read

import (
	"fmt"
	"path"
)

// Streams is a pattern for the names of streams. Empty: all of them.
type Streams string

// Validate returns an error if it is not a pattern.
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
