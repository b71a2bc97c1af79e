package report

import (
	"bytes"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
)

// crashes reads the reports (hs_err files) that crashing JVMs left in one stream. Such a
// stream is not a log: it contains no run, and the figures are complete even if a part of it
// cannot be read. A JVM overwrites the report of an earlier JVM with the same file name. In a
// container that restarts, the name is always the same, because the pid is 1. So a stream may
// hold several reports.
type crashes struct {
	sum     *sum.Sum
	cfg     Config
	out     view.Input
	file    string    // the name of the file in the report
	command string    // the command that prints the stream; empty: the file is not in a destination
	written time.Time // when the stream began or its file was last changed: the time of a crash whose report shows none

	found uint64     // number of reports up to the current line
	last  view.Crash // the crash to which the current line belongs
	at    time.Time  // when that crash happened
	more  bool       // the current line may continue the reason
}

// isCrash reports whether the input holds crash reports, according to its name.
func (in *input) isCrash() bool { return naming.KindOf(in.name) == naming.KindCrash }

func newCrashes(in *input, s *sum.Sum, cfg Config) *crashes {
	c := &crashes{sum: s, cfg: cfg, out: view.Input{Name: in.name, Files: max(len(in.segs), len(in.files))}}
	if len(in.segs) > 0 {
		c.file, c.command, c.written = in.name, view.CrashCommand, in.segs[0].Start
	} else {
		c.file, c.written = in.files[0].path, in.files[0].mod
	}
	return c
}

// crashBegins are the possible first lines of a report.
var crashBegins = [][]byte{
	[]byte("# A fatal error has been detected by the Java Runtime Environment"),
	[]byte("# There is insufficient memory for the Java Runtime Environment"),
}

// line takes the next line.
func (c *crashes) line(p cut.Piece) {
	line := p.Head()
	c.out.Lines++
	if slices.ContainsFunc(crashBegins, func(begin []byte) bool { return bytes.HasPrefix(line, begin) }) {
		c.begin()
		return
	}
	line = bytes.TrimSpace(line[:min(len(line), view.KeptBytes)])
	if rest, comment := bytes.CutPrefix(line, []byte("#")); comment {
		c.reason(string(bytes.TrimSpace(rest)), bytes.HasPrefix(rest, []byte("  ")))
	}
	if when, ok := crashTime(line); ok {
		c.at = when
	}
}

// reason takes a line at the beginning of a report. The reason is the first line after the title.
// An error that the JVM itself detected has two lines, and the second one has the description:
//
//	#  Internal Error (debug.cpp:289), pid=7, tid=8
//	#  fatal error: OutOfMemory encountered: Java heap space
func (c *crashes) reason(text string, indented bool) {
	switch {
	case text == "":
		c.more = false
	case c.last.Reason == "":
		c.last.Reason, c.more = text, indented
	case c.more && indented:
		c.last.Reason += ": " + text
		c.more = false
	}
}

// crashTime parses the time that a report shows:
//
//	Time: Tue Nov 24 18:55:00 2026 UTC elapsed time: 5.732780 seconds (0d 0h 0m 5s)
//
// The names of other time zones are ambiguous.
func crashTime(line []byte) (time.Time, bool) {
	rest, found := bytes.CutPrefix(line, []byte("Time: "))
	text, _, ended := bytes.Cut(rest, []byte(" elapsed time: "))
	if !found || !ended {
		return time.Time{}, false
	}
	for _, zone := range []string{" UTC", " GMT"} {
		if local, ok := bytes.CutSuffix(text, []byte(zone)); ok {
			when, err := time.Parse(time.ANSIC, string(local))
			return when, err == nil
		}
	}
	return time.Time{}, false
}

// begin starts the next report.
func (c *crashes) begin() {
	if c.found > 0 {
		c.put()
	}
	c.found++
	c.last, c.at, c.more = view.Crash{File: c.file, Command: c.command}, c.written, false
}

// put adds the current crash to the sum if it is in the window.
func (c *crashes) put() {
	if c.cfg.window().Has(c.at) {
		c.sum.Crash(c.at, c.last)
	}
}

// end adds the last crash and adds the stream to the inputs. If no report has begun, the stream
// holds a report whose beginning is missing.
func (c *crashes) end(bytes uint64) {
	if c.found == 0 && c.out.Lines > 0 {
		at := c.at
		if c.begin(); !at.IsZero() {
			c.at = at
		}
	}
	if c.found > 0 {
		c.put()
	}
	c.out.Bytes = bytes
	c.sum.Input(c.out)
}
