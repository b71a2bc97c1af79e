package incident

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
)

// leftOut replaces a secret.
const leftOut = "[left out by ullage incident]"

const (
	jvmArgs     = "jvm_args: "
	javaCommand = "java_command: "
	commandLine = "Command Line: "
	environment = "Environment Variables:"
)

// commandLines are the texts after which HotSpot prints the command line of a JVM: with -Xlog:arguments, in a crash
// report, at the beginning of a log of JDK 8, and where HotSpot reports that it picked up JAVA_TOOL_OPTIONS.
var commandLines = []string{jvmArgs, javaCommand, commandLine, "CommandLine flags: ", "_OPTIONS: "}

// The beginnings of lines that may follow a command line, the one in the summary of a crash report, or an environment,
// but are not a part of it. Neither ends at an empty line, because an argument or a variable may contain one.
var (
	afterCommand     = []string{"java_class_path (initial): ", "Launcher Type: ", environment}
	afterSummary     = []string{"Host: ", "Time: ", "VM Arguments:", section, failed}
	afterEnvironment = []string{"Active Locale:", "Signal Handlers:", section, failed}
)

// A crash report has these lines at the beginning of a section, and in place of what HotSpot failed to print.
const (
	section = "---------------  "
	failed  = "[error occurred during error reporting"
)

// maxHidden bounds how many lines belong to a command line whose arguments contain line ends, or to an environment.
const maxHidden = 1000

// filter passes on lines. It replaces secrets that HotSpot prints and leaves out the oldest lines.
type filter struct {
	to    io.Writer
	crash bool  // the lines are those of a crash report
	skip  int64 // bytes to skip at the beginning, rounded up to whole lines

	lines   cut.Lines
	hides   int      // number of further lines that may have secrets
	until   []string // the beginnings of lines that end them
	hidden  bool     // the current line has secrets, and another text was passed on in its place
	drops   bool     // the current line is skipped
	bytes   int64    // bytes of all lines, without secrets
	skipped int64
}

func newFilter(to io.Writer, stream string, skip int64) *filter {
	return &filter{to: to, crash: naming.KindOf(stream) == naming.KindCrash, skip: skip}
}

// print passes on everything that the function prints.
func (f *filter) print(print func(io.Writer) error) error {
	err := print(f)
	f.lines.End()
	return cmp.Or(err, f.drain())
}

// Write implements [io.Writer].
func (f *filter) Write(p []byte) (int, error) {
	f.lines.Feed(p)
	return len(p), f.drain()
}

// drain passes on the lines that have been received.
func (f *filter) drain() error {
	for p, ok := f.lines.Next(); ok; p, ok = f.lines.Next() {
		text := p.Text
		if p.First {
			f.drops = f.skipped < f.skip
			var shown string
			if shown, f.hidden = f.shown(p.Head()); f.hidden {
				text = []byte(shown + "\n")
			}
		} else if f.hidden {
			continue
		}
		f.bytes += int64(len(text))
		if f.drops {
			f.skipped += int64(len(text))
			continue
		}
		if _, err := f.to.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// shown returns the text to show in place of a line that may have secrets, and whether it may have any.
func (f *filter) shown(line []byte) (string, bool) {
	if key, at := commandIn(line); at >= 0 {
		begin, args := string(line[:at]), string(line[at+len(key):])
		shown := mark.Flags(args)
		if key == javaCommand {
			shown, _, _ = strings.Cut(args, " ") // the main class
		}
		f.hides = 0
		switch printed := begin == "" || strings.HasSuffix(begin, "] "); { // HotSpot itself printed this line, and an argument may contain line ends
		case printed && (key == javaCommand || key == jvmArgs):
			f.hides, f.until = maxHidden, afterCommand
		case f.crash && begin == "" && key == commandLine:
			f.hides, f.until = maxHidden, afterSummary
		}
		return begin + key + shown, true
	}
	if f.hides > 0 && f.ends(line) {
		f.hides = 0
	}
	if f.hides > 0 {
		f.hides--
		return leftOut, true
	}
	if f.crash && string(line) == environment {
		f.hides, f.until = maxHidden, afterEnvironment
	}
	return "", false
}

// commandIn returns the first key of a command line in a line and its offset, or -1 if the line has no key.
func commandIn(line []byte) (key string, at int) {
	at = -1
	for _, k := range commandLines {
		if i := bytes.Index(line, []byte(k)); i >= 0 && (at < 0 || i < at) {
			key, at = k, i
		}
	}
	return key, at
}

// ends reports whether a line is not a part of the command line or of the environment before it. An argument may
// contain a line that begins with a bracket, but in a log, a line that looks like a record is taken for one.
func (f *filter) ends(line []byte) bool {
	var r ul.Record
	if !f.crash {
		r.Parse(line)
	}
	return r.Present != 0 || slices.ContainsFunc(f.until, func(prefix string) bool { return bytes.HasPrefix(line, []byte(prefix)) })
}

// withoutSecrets returns a copy of a report in which no line around a stop has a part of a command line.
func withoutSecrets(r *view.Report) *view.Report {
	c := *r
	c.Longest, c.Suspected = slices.Clone(r.Longest), slices.Clone(r.Suspected)
	for i := range c.Longest {
		c.Longest[i].Before, c.Longest[i].After = around(c.Longest[i].Before), around(c.Longest[i].After)
	}
	for i, s := range c.Suspected {
		shown := *s
		shown.Before, shown.After = around(s.Before), around(s.After)
		c.Suspected[i] = &shown
	}
	return &c
}

// around returns the texts to show for the lines before or after a stop. A line that does not begin with a record is
// left out: it may be the rest of an argument that began before these lines.
func around(lines []string) []string {
	var f filter
	var all []string
	for _, line := range lines {
		text, hidden := f.shown([]byte(line))
		var r ul.Record
		r.Parse([]byte(line))
		switch {
		case hidden:
			all = append(all, text)
		case r.Present == 0 && !r.Stamped:
			all = append(all, leftOut)
		default:
			all = append(all, line)
		}
	}
	return all
}
