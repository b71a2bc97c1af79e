package outputs

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/naming"
)

// Aims reports whether a raise of the given streams changes an output. An output whose lines show
// no level is changed only if its stream is named, because the lines of the raise could not be
// distinguished from the application's own.
func Aims(stream string, j attach.JVM, o attach.Output) bool {
	if stream == "" {
		return o.HasLevel()
	}
	return slices.ContainsFunc(streamsOf(j, o), func(name string) bool {
		ok, err := path.Match(stream, name)
		return ok && err == nil
	}) || isTimed(stream, j, o)
}

// HotSpot expands only the first %p and the first %t of a file's name.
const (
	pidMark  = "%p"
	timeMark = "%t"
	someTime = "2006-01-02_15-04-05"
	anyTime  = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]_[0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
)

// expanded returns the name of an output's file as the JVM expands it, except for the time of the
// JVM's start, which is unknown.
func expanded(j attach.JVM, o attach.Output) string {
	return strings.Replace(filepath.Base(o.File()), pidMark, strconv.Itoa(j.PID), 1)
}

// streamsOf returns the names by which a command or an annotation may refer to an output's stream:
// the name of the shipped stream, with an example of a time in it; the same name with %t instead of
// the time; and the name as the JVM lists it, with %p and %t.
func streamsOf(j attach.JVM, o attach.Output) []string {
	return []string{naming.StreamOf(strings.Replace(expanded(j, o), timeMark, someTime, 1)), Stream(j, o), naming.StreamOf(filepath.Base(o.File()))}
}

// Stream returns the name of an output's stream. It has %t instead of the time of the JVM's start.
func Stream(j attach.JVM, o attach.Output) string { return naming.StreamOf(expanded(j, o)) }

// isTimed reports whether stream is the stream of an output whose file name contains the time of
// the JVM's start. The list of the JVM does not show that time.
func isTimed(stream string, j attach.JVM, o attach.Output) bool {
	before, after, timed := strings.Cut(Stream(j, o), timeMark)
	if !timed {
		return false
	}
	rest, ok := strings.CutPrefix(stream, before)
	begin, end := rest, ""
	if i := len(rest) - len(after); ok && i >= 0 {
		begin, end = rest[:i], rest[i:]
	}
	is, err := path.Match(anyTime, begin)
	return is && err == nil && end == after
}

// The reasons why a JVM has no output to raise. No reason goes away by itself.
var (
	ErrNotShipped  = errors.New("none of its outputs is shipped")
	ErrOtherStream = errors.New("none of its shipped outputs is the stream to raise")
	ErrNoLevel     = errors.New("the lines of its shipped outputs do not show their level (decorator level): only a raise that names the stream changes them")
)

// maxNamed bounds a quoted name or configuration in an error. maxShown bounds each name in a list
// of names, and maxNames the number of names.
const (
	maxNamed = 200
	maxShown = 64
	maxNames = 3
)

// OtherStream returns an error that wraps [ErrOtherStream] and has the streams that the JVM ships.
func OtherStream(pattern string, streams []string) error {
	var shown []string
	for _, name := range streams[:min(len(streams), maxNames)] {
		shown = append(shown, printable.Escaped(name, maxShown))
	}
	return fmt.Errorf("%w, %q (it has: %s)", ErrOtherStream, pattern, strings.Join(shown, ", "))
}

// NothingToRaise reports whether err wraps [ErrNotShipped], [ErrOtherStream] or [ErrNoLevel].
func NothingToRaise(err error) bool {
	return errors.Is(err, ErrNotShipped) || errors.Is(err, ErrOtherStream) || errors.Is(err, ErrNoLevel)
}
