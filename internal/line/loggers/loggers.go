// Package loggers describes the levels to which an application's loggers are raised, by the
// loggers' names.
package loggers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/line/ul"
)

// Bounds on [Levels], so that a JVM can read them in one piece.
const (
	MaxText  = 512 // bytes of the canonical text
	maxRules = 16
)

// Levels says which events of which loggers are wanted. Each rule names a logger and the lowest wanted level. A
// rule applies to the logger with its name and to all loggers below it; of the rules that apply, the one with
// the longest name wins. Levels with the same canonical text are equal. The zero value wants nothing.
type Levels struct{ text string }

// Parse reads a level for all loggers, such as "debug", or a list of at most 16 rules in at most 512 bytes, such as
// "com.acme=debug,org.hibernate.SQL=trace". A level without a name applies to all other loggers. Levels may have the
// spelling of Java's libraries: DEBUG and WARN. Spaces around rules are ignored.
func Parse(text string) (Levels, error) {
	if err := checkLength(text); err != nil {
		return Levels{}, err
	}
	rules := strings.Split(text, ",")
	if len(rules) > maxRules {
		return Levels{}, fmt.Errorf("it has %d rules, at most %d are allowed: name a package instead of its loggers", len(rules), maxRules)
	}
	seen := map[string]bool{}
	for i, rule := range rules {
		name, level, err := parseRule(strings.Trim(rule, " "))
		switch {
		case err != nil:
			return Levels{}, err
		case seen[name] && name == "":
			return Levels{}, errors.New("it has two levels for all loggers: write only one")
		case seen[name]:
			return Levels{}, fmt.Errorf("it has the logger %q twice: write it once", name)
		}
		seen[name] = true
		if rules[i] = level.String(); name != "" {
			rules[i] = name + "=" + level.String()
		}
	}
	canonical := strings.Join(rules, ",")
	if err := checkLength(canonical); err != nil { // "warn" became "warning"
		return Levels{}, err
	}
	return Levels{text: canonical}, nil
}

func checkLength(text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("it has %d bytes, at most %d are allowed: name a package instead of its loggers", len(text), MaxText)
	}
	return nil
}

// parseRule reads LOGGER=LEVEL, or LEVEL with an empty name.
func parseRule(rule string) (name string, level ul.Level, err error) {
	text, named := rule, false
	if i := strings.LastIndexByte(rule, '='); i >= 0 {
		name, text, named = rule[:i], rule[i+1:], true
	}
	switch {
	case rule == "":
		return "", 0, errors.New("a rule is empty: write a level, such as debug, or loggers with levels, such as com.acme=debug,org.hibernate.SQL=trace")
	case named && name == "":
		return "", 0, fmt.Errorf("%q names no logger: write it like com.acme=debug, or the level alone for all loggers", rule)
	}
	for _, c := range []byte(name) {
		if !nameByte(c) {
			return "", 0, fmt.Errorf("%q is not the name of a logger, because it contains %q (no wildcard is needed: com.acme also raises the loggers below it)", name, rune(c))
		}
	}
	if named && (name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..")) {
		return "", 0, fmt.Errorf("%q is not the name of a logger: com.acme also raises the loggers below it", name)
	}
	return name, level, level.Set(text)
}

// nameByte reports whether a logger's name may have the byte. Names of Tomcat's loggers have brackets and a slash.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._$-/:#@[]", c) >= 0
}

// Of returns the Levels that want the events of all loggers at a level and above. With [ul.Unknown], they want nothing.
func Of(level ul.Level) Levels {
	if level == ul.Unknown {
		return Levels{}
	}
	return Levels{text: level.String()}
}

// String returns the canonical text: lower-case levels, no spaces. It is "" for the zero value.
func (l Levels) String() string { return l.text }

// IsZero reports whether l wants nothing.
func (l Levels) IsZero() bool { return l.text == "" }

// Lowest returns the lowest wanted level of the loggers without a rule, or [ul.Unknown], and the
// lowest wanted level of any logger. named reports whether any rule has a name.
func (l Levels) Lowest() (all, any ul.Level, named bool) {
	if l.IsZero() {
		return ul.Unknown, ul.Unknown, false
	}
	for rule := range strings.SplitSeq(l.text, ",") {
		name, level, _ := parseRule(rule) // the text is canonical
		if any == ul.Unknown || level < any {
			any = level
		}
		if name == "" {
			all = level
		} else {
			named = true
		}
	}
	return all, any, named
}

// MarshalText returns the canonical text.
func (l Levels) MarshalText() ([]byte, error) { return []byte(l.text), nil }

// UnmarshalText reads levels as [Parse] does. An empty text is the zero value.
func (l *Levels) UnmarshalText(text []byte) (err error) {
	if *l = (Levels{}); len(text) > 0 {
		*l, err = Parse(string(text))
	}
	return err
}
