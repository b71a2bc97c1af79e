package attach

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// deadly is a tag set that must not be raised at run time. If perf+class+link is at info or below,
// HotSpot counts the methods that it links. It creates the counter only at its start, and only if
// the level is at info or below at that time. If the level is raised later, the JVM dies with
// SIGSEGV in Method::link_method when it loads the next class (25.0.3). Selections such as
// all=info or perf* are enough to raise it. JDK 17 has no such tag set.
const deadly = "perf+class+link"

var deadlyTags = strings.Split(deadly, "+")

// unmatched matches the answer of a JVM without that tag set. A JVM with the tag set may give a
// similar answer about a longer item of the raise.
var unmatched = regexp.MustCompile(`No tag set matches selection: ` + regexp.QuoteMeta(deadly) + `([^+*\w]|$)`)

// Guard returns raise with the deadly tag set switched off, if raise switches it on and base does
// not. A JVM that does not know the tag set refuses the command: see [Unguarded].
func Guard(base Output, raise ask.Selection) ask.Selection {
	if !enables(raise.String()) || enables(base.Selection) {
		return raise
	}
	return raise.Off(deadly)
}

// Unguarded reports whether err is the answer of a JVM that does not know the
// tag set that Guard switches off, so that the raise is safe without that item.
// Such a JVM may have applied a part of the command.
func Unguarded(err error) bool {
	var refused *Error
	if !errors.As(err, &refused) || refused.Kind != Refused {
		return false
	}
	if unmatched.MatchString(refused.Text) {
		return true
	}
	return slices.ContainsFunc(deadlyTags, func(tag string) bool { return strings.Contains(refused.Text, "Invalid tag '"+tag+"'") })
}

// enables reports whether a selection sets the deadly tag set to info or below.
func enables(selection string) (on bool) {
	for item := range strings.SplitSeq(selection, ",") {
		tags, level, _ := strings.Cut(item, "=")
		if matchesDeadly(tags) {
			on = level == "trace" || level == "debug" || level == "info"
		}
	}
	return on
}

// matchesDeadly reports whether an item's tags select the deadly tag set.
func matchesDeadly(tags string) bool {
	if tags == "all" {
		return true
	}
	list, wildcard := strings.CutSuffix(tags, "*")
	named := strings.Split(list, "+")
	for _, tag := range named {
		if !slices.Contains(deadlyTags, tag) {
			return false
		}
	}
	return wildcard || len(named) == len(deadlyTags)
}
