package ask

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
)

// Trigger is a set of conditions under which the sidecar itself raises the level. Each
// condition is sufficient. Triggers are comparable. The zero value has no condition and never
// raises.
type Trigger struct {
	// Pause is the length that a pause must exceed, from 1 ms to 1 h. Zero: no
	// pause raises.
	Pause time.Duration

	IOStall bool // a pause, or a safepoint outside its pauses, waited for something other than a CPU
	Dropped bool // the JVM dropped lines of its log (-Xlog:async)
	Warning bool // a line of level warning or error was written
}

// The names of the conditions, as they are written.
const (
	PauseCondition   = "pause"
	IOStallCondition = "io-stall"
	DroppedCondition = "dropped"
	WarningCondition = "warning"
)

// Conditions returns the names of all conditions.
func Conditions() []string {
	return []string{PauseCondition, IOStallCondition, DroppedCondition, WarningCondition}
}

// Bounds on a trigger.
const (
	maxTriggerText = 256 // bytes
	minPause       = time.Millisecond
	maxPause       = time.Hour
)

const triggerUsage = "use pause>500ms, io-stall, dropped, warning, or several of them separated by commas"

// ParseTrigger parses conditions separated by commas, each at most once: "pause>500ms, io-stall,
// dropped, warning". Spaces around names, the sign and commas are allowed; other signs and capitals
// are not. A text without a condition is an error. An error names the bad condition and says how to
// write it.
func ParseTrigger(text string) (Trigger, error) {
	var t Trigger
	if strings.TrimSpace(text) == "" {
		return t, errors.New("no condition is given; " + triggerUsage)
	}
	if len(text) > maxTriggerText {
		return t, fmt.Errorf("the conditions have %d bytes, at most %d are allowed; %s", len(text), maxTriggerText, triggerUsage)
	}
	for item := range strings.SplitSeq(text, ",") {
		if err := t.add(strings.TrimSpace(item)); err != nil {
			return Trigger{}, err
		}
	}
	return t, nil
}

// ParseStops is like [ParseTrigger], but accepts only the condition of a pause.
func ParseStops(text string) (Trigger, error) {
	if t, err := ParseTrigger(text); err == nil && t == (Trigger{Pause: t.Pause}) {
		return t, nil
	}
	return Trigger{}, errors.New("write it like pause>500ms or pause>1.5s, from 1ms to 1h")
}

// add parses one condition.
func (t *Trigger) add(item string) error {
	end := strings.IndexFunc(item, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end < 0 {
		end = len(item)
	}
	name, limit := item[:end], strings.TrimSpace(item[end:])
	var given *bool
	switch name {
	case PauseCondition:
		return t.addPause(item, limit)
	case IOStallCondition:
		given = &t.IOStall
	case DroppedCondition:
		given = &t.Dropped
	case WarningCondition:
		given = &t.Warning
	default:
		return unknownCondition(item, name)
	}
	if limit != "" {
		return fmt.Errorf("condition %q has %q after %q, which has no limit; %s", item, limit, name, triggerUsage)
	}
	if *given {
		return fmt.Errorf("condition %q occurs twice; write it once", item)
	}
	*given = true
	return nil
}

// addPause parses the rest of item after "pause".
func (t *Trigger) addPause(item, limit string) error {
	length, found := strings.CutPrefix(limit, ">")
	pause, err := time.ParseDuration(strings.TrimSpace(length))
	switch {
	case !found || err != nil || pause < minPause || pause > maxPause:
		return fmt.Errorf("condition %q needs a duration from 1ms to 1h; write it like pause>500ms or pause>1.5s", item)
	case t.Pause != 0:
		return fmt.Errorf("condition %q sets a second limit for pauses; keep only the lower limit", item)
	}
	t.Pause = pause
	return nil
}

func unknownCondition(item, name string) error {
	guess := settings.Nearest(name, Conditions())
	if guess != "" {
		return fmt.Errorf("%q is not a condition; did you mean %q? (%s)", item, guess, triggerUsage)
	}
	return fmt.Errorf("%q is not a condition; %s", item, triggerUsage)
}

// String returns the conditions in the form that [ParseTrigger] reads, in a fixed order and without
// spaces, or "" if there is no condition.
func (t Trigger) String() string {
	var items []string
	if t.Pause != 0 {
		items = append(items, PauseCondition+">"+t.Pause.String())
	}
	if t.IOStall {
		items = append(items, IOStallCondition)
	}
	if t.Dropped {
		items = append(items, DroppedCondition)
	}
	if t.Warning {
		items = append(items, WarningCondition)
	}
	return strings.Join(items, ",")
}

// IsZero reports whether there is no condition.
func (t Trigger) IsZero() bool { return t == Trigger{} }
