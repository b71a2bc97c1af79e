package ask

import (
	"errors"
	"fmt"
	"time"
)

// MinFor is the shortest and MaxRaise the longest duration of a raise. DefaultFor is the duration
// if a request names none.
const (
	MinFor     = time.Second
	MaxRaise   = 24 * time.Hour
	DefaultFor = 15 * time.Minute
)

// Raise is a selection to which the JVMs are to be raised for a while. Raises are comparable.
// The zero value asks for nothing.
type Raise struct {
	Selection Selection `json:"selection"`

	// Stream is the pattern of the streams to raise. Empty: every output whose lines show their
	// level.
	Stream string `json:"stream,omitempty"`

	// For is the duration, from [MinFor] to [MaxRaise].
	For time.Duration `json:"for"`

	// ID distinguishes a raise from an earlier one of the same selection: a new ID starts a
	// new raise. It may be empty.
	ID string `json:"id,omitempty"`
}

// IsZero reports whether r asks for nothing.
func (r Raise) IsZero() bool { return r.Selection.IsZero() }

// Check returns an error if r cannot be asked for.
func (r Raise) Check() error {
	if r.IsZero() {
		return errors.New("a raise has no selection: write it like gc*=debug,safepoint=info")
	}
	if err := CheckFor(r.For); err != nil {
		return err
	}
	if r.Stream != "" {
		_, err := ParseStream(r.Stream)
		return err
	}
	return nil
}

// CheckFor returns an error if no raise may last for d.
func CheckFor(d time.Duration) error {
	if d < MinFor || d > MaxRaise {
		return fmt.Errorf("a raise of %s is out of range: 1s to %.0fh", d, MaxRaise.Hours())
	}
	return nil
}
