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

// Aims reports whether a raise of these streams is meant for an output. An
// output whose lines show no level is changed only by name: the lines of the
// raise could not be distinguished from the application's own.
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

// expanded returns the name of an output's file as the JVM expands it, but for
// the time of its start, which may be any.
func expanded(j attach.JVM, o attach.Output) string {
	return strings.Replace(filepath.Base(o.File()), pidMark, strconv.Itoa(j.PID), 1)
}

// streamsOf returns the names that an output's stream can be called by: that of
// its file, and that in the JVM's list.
func streamsOf(j attach.JVM, o attach.Output) []string {
	return []string{naming.StreamOf(strings.Replace(expanded(j, o), timeMark, someTime, 1)), Stream(j, o), naming.StreamOf(filepath.Base(o.File()))}
}

// Stream returns the name of an output's stream, but for the time of the JVM's start.
func Stream(j attach.JVM, o attach.Output) string { return naming.StreamOf(expanded(j, o)) }

// isTimed reports whether stream is the name of an output whose file's name has
// the time of the JVM's start, which the list does not show.
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

// The reasons why a JVM has no output to raise. None of them passes by itself.
var (
	ErrNotShipped  = errors.New("none of its outputs is shipped")
	ErrOtherStream = errors.New("none of its shipped outputs is the stream to raise")
	ErrNoLevel     = errors.New("the lines of its shipped outputs do not show their level (decorator level): only a raise that names the stream changes them")
)

// maxNamed bounds a quoted name or configuration in an error. maxShown bounds a
// name in a list of several, and maxNames the names in it.
const (
	maxNamed = 200
	maxShown = 64
	maxNames = 3
)

// OtherStream returns ErrOtherStream of a JVM, with its shipped streams.
func OtherStream(pattern string, streams []string) error {
	var shown []string
	for _, name := range streams[:min(len(streams), maxNames)] {
		shown = append(shown, printable.Escaped(name, maxShown))
	}
	return fmt.Errorf("%w, %q (it has: %s)", ErrOtherStream, pattern, strings.Join(shown, ", "))
}

// NothingToRaise reports whether err is one of these reasons.
func NothingToRaise(err error) bool {
	return errors.Is(err, ErrNotShipped) || errors.Is(err, ErrOtherStream) || errors.Is(err, ErrNoLevel)
}
