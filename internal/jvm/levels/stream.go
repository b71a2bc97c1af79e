package levels

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/naming"
)

// goal is what every JVM is to log. The zero goal stands for each JVM's own.
type goal struct {
	ask.Raise
	from Cause
}

// same reports whether the two goals ask for the same of a JVM.
func (g goal) same(h goal) bool { return g.Selection == h.Selection && g.Stream == h.Stream }

// aims reports whether a raise of these streams changes an output. An output
// whose lines show no level is changed only by name: the lines of the raise
// could not be distinguished from the application's own.
func aims(stream string, j attach.JVM, o attach.Output) bool {
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

// streamsOf returns the names that an output's stream can be called by: as its
// file is named, and as the JVM lists it.
func streamsOf(j attach.JVM, o attach.Output) []string {
	name := expanded(j, o)
	return []string{naming.StreamOf(strings.Replace(name, timeMark, someTime, 1)), naming.StreamOf(name), naming.StreamOf(filepath.Base(o.File()))}
}

// isTimed reports whether stream is the name of an output whose file's name has
// the time of the JVM's start, which the list does not show.
func isTimed(stream string, j attach.JVM, o attach.Output) bool {
	before, after, timed := strings.Cut(naming.StreamOf(expanded(j, o)), timeMark)
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
	errNotShipped  = errors.New("none of its outputs is shipped")
	errOtherStream = errors.New("none of its shipped outputs is the stream to raise")
	errNoLevel     = errors.New("the lines of its shipped outputs do not show their level (decorator level): only a raise that names the stream changes them")
)

// otherStream returns errOtherStream of a JVM, with its shipped streams.
func otherStream(pattern string, streams []string) error {
	var shown []string
	for _, name := range streams[:min(len(streams), maxNames)] {
		shown = append(shown, printable.Escaped(name, maxShown))
	}
	return fmt.Errorf("%w, %q (it has: %s)", errOtherStream, pattern, strings.Join(shown, ", "))
}

// nothingToRaise reports whether err is one of these reasons.
func nothingToRaise(err error) bool {
	return errors.Is(err, errNotShipped) || errors.Is(err, errOtherStream) || errors.Is(err, errNoLevel)
}
