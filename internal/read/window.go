package read

import (
	"errors"
	"fmt"
	"path"
	"time"
)

// Window is a range of time: both ends are part of it. Zero: it is open at that end.
type Window struct{ Since, Until time.Time }

// Validate returns an error if no time is in the window.
func (w Window) Validate() error {
	if !w.Until.IsZero() && w.Until.Before(w.Since) {
		return errors.New("--until is before --since: no line can be between them")
	}
	return nil
}

// Bounded reports whether some times are not in the window.
func (w Window) Bounded() bool { return !w.Since.IsZero() || !w.Until.IsZero() }

// Has reports whether a time is in the window.
func (w Window) Has(t time.Time) bool { return w.Overlaps(t, t) }

// Overlaps reports whether any time from first to last is in the window.
func (w Window) Overlaps(first, last time.Time) bool {
	return !last.Before(w.Since) && (w.Until.IsZero() || !first.After(w.Until))
}

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
