package levels

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/podmeta"
	"github.com/ullage/ullage/internal/printable"
	"github.com/ullage/ullage/internal/selection"
)

// Cause is where a wanted level comes from.
type Cause string

// The causes. The one that comes later here wins while it lasts: a person at
// a terminal over an annotation, an annotation over a trigger.
const (
	FromTrigger    Cause = "trigger"
	FromAnnotation Cause = "annotation"
	FromCommand    Cause = "command"
)

var byPrecedence = []Cause{FromCommand, FromAnnotation, FromTrigger}

// raise is a level that is wanted for a while. Its end is absolute, so that
// no restart prolongs it.
type raise struct {
	Selection string        `json:"selection"`
	For       time.Duration `json:"for"` // as it was asked for
	Since     time.Time     `json:"since"`
	Until     time.Time     `json:"until"`
	Reason    string        `json:"reason"` // a metric's label: the cause, or the condition of a trigger
	Why       string        `json:"why"`    // for people
	Ended     string        `json:"ended"`  // why it ended before its time; empty if it did not

	// ID is the annotation log-id: it tells a raise from an earlier one to the same.
	ID string `json:"id,omitempty"`
}

func (r raise) over(now time.Time) bool { return r.Ended != "" || !now.Before(r.Until) }

// newRaise returns a raise that begins now.
func newRaise(sel selection.Selection, lasts time.Duration, reason, why string, now time.Time) raise {
	now = now.Round(0) // by the wall clock alone, as it is when it is read back
	return raise{Selection: sel.String(), For: lasts, Since: now, Until: now.Add(lasts), Reason: reason, Why: why}
}

// baseline is what a JVM's outputs were before the first raise. It is saved
// before the JVM is touched and forgotten when a list has shown that it holds
// again: whoever finds one restores it, or replaces the raise on top of it.
type baseline struct {
	PID     int             `json:"pid"` // for people
	Outputs []attach.Output `json:"outputs"`
	Applied string          `json:"applied"` // the last selection that the JVM took; empty: its own
	Cause   Cause           `json:"cause"`   // ... and where it came from

	// Unsure is set before the JVM is sent anything, and cleared when the JVM has
	// taken it: in between the JVM may have Applied, or what it was sent.
	Unsure bool `json:"unsure"`

	kept bool // it is saved
}

// state is what has to outlive a process: what is wanted, and what was.
type state struct {
	Raises map[Cause]raise      `json:"raises"`
	JVMs   map[string]*baseline `json:"jvms"` // by attach.JVM.ID

	// Quiet is when the triggers may be armed again; zero: at once.
	Quiet time.Time `json:"quiet,omitzero"`
}

func newState() *state { return &state{Raises: map[Cause]raise{}, JVMs: map[string]*baseline{}} }

// wanted returns the raise that is in effect, or false for the baseline.
func (s *state) wanted(now time.Time) (Cause, raise, bool) {
	for _, c := range byPrecedence {
		if r, ok := s.Raises[c]; ok && !r.over(now) {
			return c, r, true
		}
	}
	return "", raise{}, false
}

// Bounds on a state that is read back: the application can write there.
const (
	maxState   = 256 << 10 // bytes
	maxJVMs    = 32
	maxOutputs = 16  // of one JVM
	maxWhy     = 300 // bytes
)

// parseState reads a saved state and keeps the parts that are sound; it returns
// an error if a part was not. A raise that would last longer than was asked for
// ends when it could have at the latest. The state is nil only with an error.
func parseState(text []byte, now time.Time) (*state, error) {
	s := newState()
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("decode the saved levels: %w", err)
	}
	if s.Raises == nil || s.JVMs == nil {
		return nil, errors.New("decode the saved levels: a part is missing")
	}
	var bad error
	for cause, r := range s.Raises {
		sel, err := selection.Parse(r.Selection)
		if err != nil || r.For <= 0 || r.For > podmeta.MaxRaise || !slices.Contains(byPrecedence, cause) || !slices.Contains(reasons, r.Reason) {
			bad = errors.New("a saved raise is not sound")
			delete(s.Raises, cause)
			continue
		}
		r.Selection, r.Why, r.Ended, r.ID = sel.String(), printable.Escaped(r.Why, maxWhy), printable.Escaped(r.Ended, maxWhy), printable.Escaped(r.ID, podmeta.MaxID)
		r.Until = earlier(r.Until, now.Add(r.For))
		s.Raises[cause] = r
	}
	for id, b := range s.JVMs {
		if b == nil || len(s.JVMs) > maxJVMs || !sound(b) {
			bad = errors.New("a saved baseline is not sound")
			delete(s.JVMs, id)
			continue
		}
		b.kept = true
	}
	s.Quiet = earlier(s.Quiet, now.Add(2*podmeta.MaxRaise))
	return s, bad
}

// end ends a raise before its time.
func (s *state) end(cause Cause, why string) {
	if r, ok := s.Raises[cause]; ok && r.Ended == "" {
		r.Ended = why
		s.Raises[cause] = r
	}
}

// endAll ends every raise before its time.
func (s *state) endAll(why string) {
	for cause := range s.Raises {
		s.end(cause, why)
	}
}

// expire forgets raises that are over. An annotation that is over and still
// there has to be remembered, and why a raise has ended until everybody has
// seen it. A clock that was set back prolongs no raise.
func (s *state) expire(now time.Time) {
	for cause, r := range s.Raises {
		if latest := now.Add(r.For); r.Until.After(latest) {
			r.Until = latest
			s.Raises[cause] = r
		}
		if cause != FromAnnotation && now.After(r.Until.Add(time.Minute)) {
			delete(s.Raises, cause)
		}
	}
}

// sound reports whether every output of b reads as one that a JVM has listed.
func sound(b *baseline) bool {
	if len(b.Outputs) > maxOutputs {
		return false
	}
	for _, o := range b.Outputs {
		listed := fmt.Sprintf("Log output configuration:\n #0: %s %s %s", o.Name, o.Selection, o.Decorators)
		if o.Options != "" {
			listed += " " + o.Options
		}
		if o.Reconfigured {
			listed += " (reconfigured)"
		}
		again, err := attach.ParseList(listed + "\n")
		if err != nil || len(again) != 1 {
			return false
		}
		if again[0].Index = o.Index; again[0] != o {
			return false
		}
	}
	_, err := selection.Parse(b.Applied)
	return b.Applied == "" || err == nil
}

// clone returns a copy that shares nothing with s that is ever changed.
func (s *state) clone() *state {
	c := &state{Raises: maps.Clone(s.Raises), JVMs: map[string]*baseline{}, Quiet: s.Quiet}
	for id, b := range s.JVMs {
		copied := *b
		c.JVMs[id] = &copied
	}
	return c
}

// same reports whether s and t are equal.
func (s *state) same(t *state) bool { return reflect.DeepEqual(s, t) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
