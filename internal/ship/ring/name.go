package ring

import "strings"

const (
	ringPrefix    = "events-"
	ringSuffix    = ".ring"
	textSuffix    = ".log"
	journalSuffix = ".journal"
	unfinished    = ".new" // suffix of a ring that its JVM has not completed; its name also begins with a dot
)

// A name is the common part of the names of a ring, its text and its journal:
// "events-7-1763722140123".
type name string

func (n name) ring() string    { return string(n) + ringSuffix }
func (n name) text() string    { return string(n) + textSuffix }
func (n name) journal() string { return string(n) + journalSuffix }

// parseName returns the name in a file's name with the given suffix. A name is "events-", the
// process ID, the start of the process in milliseconds since the epoch, and optionally another
// number, separated by dashes. Package tail recognizes texts by the same rule.
func parseName(file, suffix string) (name, bool) {
	base, ok := strings.CutSuffix(file, suffix)
	rest, ok2 := strings.CutPrefix(base, ringPrefix)
	if !ok || !ok2 {
		return "", false
	}
	parts := strings.Split(rest, "-")
	if len(parts) < 2 || len(parts) > 3 || len(parts[1]) < 12 {
		return "", false
	}
	for _, digits := range parts {
		if digits == "" || len(digits) > 19 || strings.Trim(digits, "0123456789") != "" {
			return "", false
		}
	}
	return name(base), true
}

// compare orders names by the start of their processes.
func (n name) compare(other name) int {
	a, b := n.start(), other.start()
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a != b {
		return strings.Compare(a, b)
	}
	return strings.Compare(string(n), string(other))
}

// start returns the digits of the time at which the process started, without leading zeros.
func (n name) start() string {
	return strings.TrimLeft(strings.Split(string(n), "-")[2], "0")
}
