package report

import (
	"bytes"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
)

const argumentsTag = "arguments"

// arguments reads the command line that a JVM logs before anything else of its run, with
// -Xlog:arguments. JDK 25 does so, and JDK 17 does not. JDK 8 always does. The zero value has read none.
type arguments struct {
	tag   *view.Share // of the lines with its tag; nil: there was none
	flags string      // of the run that begins next
	given bool        // a run has begun
}

// line takes the message of a line with the tag arguments. Text after a line end inside an
// argument is not a line of its own.
func (a *arguments) line(message []byte) {
	if args, ok := bytes.CutPrefix(message, []byte("jvm_args: ")); ok {
		a.flags = printable.Escaped(mark.Flags(string(args)), view.MaxFlags)
	}
}

// jdk8 takes a line of JDK 8 that has no stamp, and reports whether it is the one with the flags
// that each of its files begins with.
func (a *arguments) jdk8(line []byte) bool {
	flags, ok := bytes.CutPrefix(line, []byte("CommandLine flags: "))
	if ok {
		a.flags = printable.Escaped(mark.Flags(string(flags)), view.MaxFlags)
	}
	return ok
}

// give passes what was read to the run that begins.
func (a *arguments) give(r *sum.Run) {
	if a.flags != "" {
		r.Flags(a.flags)
	}
	a.flags, a.given = "", true
}
