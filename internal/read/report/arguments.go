package report

import (
	"bytes"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
)

const argumentsTag = "arguments"

// arguments reads the command line that a JVM logs at the beginning of its run with -Xlog:arguments.
// The command line is the first message in JDK 25, but not in JDK 17. JDK 8 always logs it. The zero
// value has read nothing.
type arguments struct {
	tag   *view.Share // the lines with the tag arguments; nil: there was none
	flags string      // flags of the run that begins next
	given bool        // a run has begun
}

// line takes the message of a line with the tag arguments. If an argument contains a line
// end, the text after it is not a line of its own.
func (a *arguments) line(message []byte) {
	if args, ok := bytes.CutPrefix(message, []byte("jvm_args: ")); ok {
		a.flags = printable.Escaped(mark.Flags(string(args)), view.MaxFlags)
	}
}

// jdk8 takes a line of JDK 8 that has no stamp, and reports whether it is the line with the
// flags, which is at the beginning of each file.
func (a *arguments) jdk8(line []byte) bool {
	flags, ok := bytes.CutPrefix(line, []byte("CommandLine flags: "))
	if ok {
		a.flags = printable.Escaped(mark.Flags(string(flags)), view.MaxFlags)
	}
	return ok
}

// give passes the flags to the run that begins.
func (a *arguments) give(r *sum.Run) {
	if a.flags != "" {
		r.Flags(a.flags)
	}
	a.flags, a.given = "", true
}
