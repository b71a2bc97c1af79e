package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/line/loggers"
)

// Cause is the origin of a raise.
type Cause string

// The causes, in ascending priority: a command overrides an annotation, and an
// annotation overrides a trigger.
const (
	FromTrigger    Cause = "trigger"
	FromAnnotation Cause = "annotation"
	FromCommand    Cause = "command"
)

var byPrecedence = []Cause{FromCommand, FromAnnotation, FromTrigger}

// Reasons returns the possible reasons of a raise: the values of a metric's label.
func Reasons() []string {
	return append([]string{string(FromAnnotation), string(FromCommand)}, ask.Conditions()...)
}

// Raise is a raise that has begun. Its end is a point in time, so that no restart prolongs it.
type Raise struct {
	ask.Raise
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"` // the cause, or the condition of a trigger; a metric's label
	Why    string    `json:"why"`    // a human-readable text
	Ended  string    `json:"ended"`  // why the raise ended early; empty if it did not

	// By and EndedBy are the processes that asked for the raise and for its end. They are empty if
	// no process asked, or if the process is unknown.
	By      string `json:"by,omitempty"`
	EndedBy string `json:"endedBy,omitempty"`
}

// Over reports whether a raise has ended.
func (r Raise) Over(now time.Time) bool { return r.Ended != "" || !now.Before(r.Until) }

// Begun returns a raise that begins now.
func Begun(asked ask.Raise, reason, why string, now time.Time) Raise {
	r := Raise{Raise: asked, Reason: reason, Why: why}
	r.begin(now)
	return r
}

// begin makes the raise begin now.
func (r *Raise) begin(now time.Time) {
	r.Since = now.Round(0) // without the monotonic clock, which a saved state does not have
	r.Until = r.Since.Add(r.For)
}

// Baseline is the configuration of a JVM's outputs before the first raise. It is saved before the
// JVM is changed, and forgotten when a list has shown that the JVM has that configuration again. A
// process that finds a saved baseline restores it, or replaces the raise that was added to it.
type Baseline struct {
	PID     int             `json:"pid"` // informational
	Outputs []attach.Output `json:"outputs"`
	Stream  string          `json:"stream,omitempty"` // the pattern by which the outputs were chosen; see [ask.Raise]
	Applied ask.Selection   `json:"applied"`          // the last raise that the JVM accepted; zero: none
	Cause   Cause           `json:"cause"`            // the cause of Applied

	// Unsure is set before anything is sent to the JVM, and cleared when the selection of the JVM
	// is known again. In between, the JVM may have Applied or the selection that was sent.
	Unsure bool `json:"unsure"`

	kept bool // the baseline is saved
}

// State is what must survive the end of a process: the raises, the baselines and the adoptions.
type State struct {
	Raises map[Cause]Raise      `json:"raises"`
	JVMs   map[string]*Baseline `json:"jvms"` // by attach.JVM.ID

	Adopted map[string]*Adopted `json:"adopted,omitempty"` // by attach.JVM.ID

	App    *AppRaise `json:"app,omitempty"`    // the raise of an annotation; nil: none
	AppSet *AppRaise `json:"appSet,omitempty"` // the raise of a command; nil: none

	// AppLevels are the levels to which the application's events are raised, or are about to be.
	AppLevels loggers.Levels `json:"appLevel,omitzero"`

	// Quiet is the earliest time at which the trigger may be armed. Zero: at once.
	Quiet time.Time `json:"quiet,omitzero"`

	// Fired means that the trigger has raised and that not everything written during the raise has
	// been read, so that the cool-down has not begun.
	Fired bool `json:"fired,omitempty"`
}

// NewState returns a state without a raise.
func NewState() *State {
	return &State{Raises: map[Cause]Raise{}, JVMs: map[string]*Baseline{}, Adopted: map[string]*Adopted{}}
}

// Wanted returns the raise that is in effect, or false if no raise is in effect.
func (s *State) Wanted(now time.Time) (Cause, Raise, bool) {
	for _, c := range byPrecedence {
		if r, ok := s.Raises[c]; ok && !r.Over(now) {
			return c, r, true
		}
	}
	return "", Raise{}, false
}

// Bounds on a saved state, which the application can write.
const (
	maxState = 256 << 10 // bytes
	MaxJVMs  = 32
	maxWhy   = 300 // bytes
)

// Parse parses a saved state and keeps its sound parts. It returns an error if a part is not sound.
// If a raise ends later than its duration permits, it is shortened to that duration. If Parse
// returns no state, it returns an error.
func Parse(text []byte, now time.Time) (*State, error) {
	s := NewState()
	parts := struct { // each raise, baseline and adoption is checked separately
		*State
		Raises  map[Cause]json.RawMessage  `json:"raises"`
		JVMs    map[string]json.RawMessage `json:"jvms"`
		Adopted map[string]json.RawMessage `json:"adopted"`
	}{s, map[Cause]json.RawMessage{}, map[string]json.RawMessage{}, nil}
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, fmt.Errorf("decode the saved levels: %w", err)
	}
	if parts.Raises == nil || parts.JVMs == nil {
		return nil, errors.New("decode the saved levels: a part is missing")
	}
	var bad error
	for cause, part := range parts.Raises {
		var r Raise
		if err := json.Unmarshal(part, &r); err != nil || r.Check() != nil || !slices.Contains(byPrecedence, cause) || !slices.Contains(Reasons(), r.Reason) {
			bad = errors.New("a saved raise is not sound")
			continue
		}
		r.Why, r.Ended, r.ID = printable.Escaped(r.Why, maxWhy), printable.Escaped(r.Ended, maxWhy), printable.Escaped(r.ID, ask.MaxID)
		r.By, r.EndedBy = printable.Escaped(r.By, maxWhy), printable.Escaped(r.EndedBy, maxWhy)
		r.Since, r.Until = savable(r.Since), earlier(savable(r.Until), now.Add(r.For))
		s.Raises[cause] = r
	}
	for id, part := range parts.JVMs {
		var b *Baseline
		if err := json.Unmarshal(part, &b); err != nil || b == nil || len(s.JVMs) == MaxJVMs || !sound(b) {
			bad = errors.New("a saved baseline is not sound")
			continue
		}
		b.kept = true
		s.JVMs[id] = b
	}
	for id, part := range parts.Adopted {
		var a *Adopted
		if err := json.Unmarshal(part, &a); err != nil || a == nil || len(s.Adopted) == MaxJVMs || !a.sound() {
			bad = errors.New("a saved output is not sound")
			continue
		}
		a.kept, a.Unsure = true, true // the process that saved it may have been killed before the JVM answered
		s.Adopted[id] = a
	}
	if err := s.checkApps(); err != nil {
		bad = err
	}
	s.Quiet = earlier(savable(s.Quiet), now.Add(2*ask.MaxRaise))
	return s, bad
}

// savable returns a time in a form that can be saved: JSON decodes times with odd zones and years that it does not
// encode. A time with such a year becomes the zero time, which is long past.
func savable(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// End ends a raise early. by is the process that asked for the end, if a process did.
func (s *State) End(cause Cause, why, by string) {
	if r, ok := s.Raises[cause]; ok && r.Ended == "" {
		r.Ended, r.EndedBy = why, by
		s.Raises[cause] = r
	}
}

// EndAll ends every raise early, including those of the application.
func (s *State) EndAll(why, by string, now time.Time) {
	for cause := range s.Raises {
		s.End(cause, why, by)
	}
	s.endApps(now)
}

// Expire forgets raises that are over. It keeps the raise of an annotation, so that the raise
// does not begin again while the annotation exists. It keeps other raises for a minute after
// their end, so that the reason for an early end can be reported. If a clock was set back, no
// raise is prolonged.
func (s *State) Expire(now time.Time) {
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

// sound reports whether the outputs of b could come from the list of a JVM.
func sound(b *Baseline) bool {
	if len(b.Outputs) > outputs.MaxChosen {
		return false
	}
	if _, err := ask.ParseStream(b.Stream); b.Stream != "" && err != nil {
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
	return true
}

// RaisedTo implements [outputs.RaisedTo].
func (s *State) RaisedTo(id, output string) string {
	b := s.JVMs[id]
	if b == nil || !slices.ContainsFunc(b.Outputs, func(o attach.Output) bool { return o.Name == output }) {
		return ""
	}
	return b.Applied.String()
}

// Known returns the IDs of the JVMs that have a baseline or were given an output.
func (s *State) Known() []string {
	ids := map[string]bool{}
	for id := range s.JVMs {
		ids[id] = true
	}
	for id := range s.Adopted {
		ids[id] = true
	}
	return slices.Collect(maps.Keys(ids))
}

// Clone returns a copy that shares nothing mutable with s: an [AppRaise] is never changed.
func (s *State) Clone() *State {
	c := &State{Raises: maps.Clone(s.Raises), JVMs: map[string]*Baseline{}, Adopted: map[string]*Adopted{}, App: s.App, AppSet: s.AppSet, AppLevels: s.AppLevels, Quiet: s.Quiet, Fired: s.Fired}
	for id, b := range s.JVMs {
		copied := *b
		c.JVMs[id] = &copied
	}
	for id, a := range s.Adopted {
		copied := *a
		c.Adopted[id] = &copied
	}
	return c
}

// Same reports whether s and t are equal.
func (s *State) Same(t *State) bool { return reflect.DeepEqual(s, t) }

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
