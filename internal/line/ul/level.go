package ul

import (
	"fmt"
	"slices"
	"strings"
)

// Level is the severity of a record. Levels are ordered: a higher level is more
// severe, and Unknown is below all others. The zero value is Unknown.
type Level uint8

// The levels of UL. Unknown is the level of a line without a level.
const (
	Unknown Level = iota
	Trace
	Debug
	Info
	Warning
	Error
)

// NumLevels is the number of levels, including Unknown, for arrays indexed by level.
const NumLevels = 6

var levelNames = [NumLevels]string{"unknown", "trace", "debug", "info", "warning", "error"}

// Levels returns the names of the levels in order.
func Levels() []string { return slices.Clone(levelNames[Unknown+1:]) }

// String returns the level in UL's spelling, or "unknown".
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return levelNames[Unknown]
}

// Below reports whether a line of level l is less severe than least. A line without a level is
// treated as if its level were info.
func (l Level) Below(least Level) bool {
	if l == Unknown {
		l = Info
	}
	return l < least
}

// ParseLevel parses a level in UL's spelling: trace, debug, info, warning or
// error. Unknown can't be requested, so "unknown" is an error.
func ParseLevel(s string) (Level, error) {
	if l := levelOf([]byte(s)); l != Unknown {
		return l, nil
	}
	return Unknown, fmt.Errorf("%q is not a level (%s)", s, useLevels)
}

const useLevels = "use trace, debug, info, warning or error"

// Choices returns the names of the levels.
func (l *Level) Choices() []string { return Levels() }

// Set implements [flag.Value] with [ParseLevel]. It also accepts warn for warning,
// and capital letters, which many other logs use. If text is not a level, the value
// stays unchanged.
func (l *Level) Set(text string) error {
	word := strings.ToLower(text)
	if word == "warn" {
		word = levelNames[Warning]
	}
	v, err := ParseLevel(word)
	if err != nil {
		return fmt.Errorf("%q is not a level (%s)", text, useLevels)
	}
	*l = v
	return nil
}

// MarshalText implements [encoding.TextMarshaler] with [Level.String].
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts the output of
// MarshalText, including "unknown".
func (l *Level) UnmarshalText(text []byte) error {
	if string(text) == levelNames[Unknown] {
		*l = Unknown
		return nil
	}
	return l.Set(string(text))
}

// levelOf returns the level that word spells, or Unknown.
func levelOf(word []byte) Level {
	switch string(word) {
	case "trace":
		return Trace
	case "debug":
		return Debug
	case "info":
		return Info
	case "warning":
		return Warning
	case "error":
		return Error
	}
	return Unknown
}
