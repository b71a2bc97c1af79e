package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/segment/owner"
)

// maxCheckName limits the width of the column of names.
const maxCheckName = 40

// checkPrinter prints each result of `ullage check` as soon as it is known.
type checkPrinter struct {
	out    io.Writer
	json   *json.Encoder // nil: a table
	width  int           // of the column of names
	header bool          // whether the header is printed
}

func newCheckPrinter(out io.Writer, names []string, asJSON bool) *checkPrinter {
	p := &checkPrinter{out: out, width: len("STREAM")}
	for _, name := range names {
		p.width = min(maxCheckName, max(p.width, utf8.RuneCountInString(printable.Line(name))))
	}
	if asJSON {
		p.json = json.NewEncoder(jsonLines{out})
	}
	return p
}

// jsonLines escapes characters that a terminal would interpret.
type jsonLines struct{ io.Writer }

func (j jsonLines) Write(b []byte) (int, error) {
	_, err := io.WriteString(j.Writer, printable.JSON(string(b)))
	return len(b), err
}

// Lack implements [check.Receiver].
func (p *checkPrinter) Lack(l owner.Lack) error {
	if p.json != nil {
		return p.json.Encode(struct {
			Kind string `json:"kind"`
			owner.Lack
		}{"sidecar", l})
	}
	_, err := fmt.Fprintln(p.out, l)
	return err
}

// Run implements [check.Receiver].
func (p *checkPrinter) Run(r check.Run) error {
	if p.json != nil {
		return p.json.Encode(struct {
			Kind string `json:"kind"`
			check.Run
		}{"run", r})
	}
	if !p.header {
		p.header = true
		if _, err := fmt.Fprintf(p.out, "%-*s  %3s  %-29s  %-29s  %9s  LEVELS\n", p.width, "STREAM", "RUN", " FROM", " TO", "LINES"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.out, "%-*s  %3d  %-29s  %-29s  %9d  %s\n", p.width, clip(printable.Line(r.Stream), p.width), r.Run,
		checkedTime(r.First, r.Estimated), checkedTime(r.Last, r.Estimated), r.Lines, checkedLevels(r.Levels))
	return err
}

// Stream implements [check.Receiver].
func (p *checkPrinter) Stream(s check.Stream) error {
	if p.json != nil {
		return p.json.Encode(struct {
			Kind     string `json:"kind"`
			Name     string `json:"stream"` // first, as in all objects
			Complete bool   `json:"complete"`
			check.Stream
		}{"stream", s.Stream, s.Complete(), s})
	}
	name := printable.Line(s.Stream)
	for _, text := range findings(s) {
		if _, err := fmt.Fprintf(p.out, "  %s: %s\n", name, text); err != nil {
			return err
		}
	}
	return nil
}

// findings returns one line for each kind of loss or damage in a stream.
func findings(s check.Stream) (lines []string) {
	add := func(is bool, format string, args ...any) {
		if is {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	add(s.Gaps > 0, "gaps: %d, of %s, %s; discard: %s; drop: %s", s.Gaps, printable.Plural(s.Dropped[ul.Discard].Total()+s.Dropped[ul.DropAll].Total(), "line"), printable.Plural(s.GapBytes, "byte"),
		checkedLevels(s.Dropped[ul.Discard]), checkedLevels(s.Dropped[ul.DropAll]))
	add(s.JVMDropped > 0, "jvm: it dropped %s itself (-Xlog:async)", printable.Plural(s.JVMDropped, "line"))
	add(s.JVMCuts > 0, "jvm: it lost lines at %s, over %.3f s in total, because its tmpfs was full", printable.Plural(s.JVMCuts, "place"), s.JVMCutSeconds)
	add(s.Shortened > 0, "cut: %d application records were too long, and part of each is missing", s.Shortened)
	add(s.DamagedBytes > 0, "damaged: %d bytes on disk do not decode", s.DamagedBytes)
	add(s.Unreadable > 0, "unreadable: %s; %s", printable.Plural(s.Unreadable, "segment"), printable.Line(s.Error))
	add(s.Missing > 0, "missing: %s that retention has not deleted", printable.Plural(s.Missing, "segment"))
	add(s.MissedArchives > 0, "archives: %d were overwritten before they were read, and their lines are lost", s.MissedArchives)
	add(s.Truncations > 0, "truncated: a file was truncated %s, and what was not read before is lost", printable.Plural(s.Truncations, "time"))
	add(s.Short, "short: it reaches back to %s; retention has deleted earlier lines", s.Reaches.UTC().Format(ul.TimeLayout))
	add(s.OpenBytes > 0, "the last %d bytes are not complete: a sidecar is writing them, or was killed (this counts as complete)", s.OpenBytes)
	return lines
}

// total prints the last line.
func (p *checkPrinter) total(t check.Total) error {
	if p.json != nil {
		return p.json.Encode(struct {
			Kind string `json:"kind"`
			check.Total
		}{"total", t})
	}
	if err := p.marks(t); err != nil {
		return err
	}
	text := "complete: "
	if !t.Complete {
		text = "NOT COMPLETE: "
	}
	switch {
	case t.Incomplete > 0:
		text += fmt.Sprintf("%d of %s; %s, %s", t.Incomplete, printable.Plural(t.Streams, "stream"), printable.Plural(t.Runs, "run"), printable.Plural(t.Lines, "line"))
	case t.Empty && !t.Ends.IsZero():
		text += "no lines in that time; the copy ends " + t.Ends.UTC().Format(ul.TimeLayout)
	default:
		text += fmt.Sprintf("%s, %s, %s", printable.Plural(t.Streams, "stream"), printable.Plural(t.Runs, "run"), printable.Plural(t.Lines, "line"))
	}
	switch reaches := t.Reaches.UTC().Format(ul.TimeLayout); {
	case t.Reaches.IsZero():
		text += "; nothing is persisted"
	case t.Cut:
		text += "; back to " + reaches + "; retention has deleted earlier lines"
	default:
		text += "; from the beginning, " + reaches
	}
	if t.Sidecar != nil {
		text += "; and " + t.Sidecar.String()
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

// marks prints the number of marks of each kind.
func (p *checkPrinter) marks(t check.Total) error {
	text := ""
	if len(t.Marks) > 0 {
		text = "marks: " + checkedMarks(t.Marks) + "\n"
	}
	if len(t.Warnings) > 0 {
		text += "warnings among the marks, which 'ullage logs --marks' lists: " + checkedMarks(t.Warnings) + "\n"
	}
	if t.MarksDamaged {
		text += "marks: some of them cannot be read\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// checkedMarks formats marks by kind: "jvm-ended=1 jvm-started=2".
func checkedMarks(marks map[mark.Kind]uint64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(marks)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, marks[kind]))
	}
	return strings.Join(parts, " ")
}

// checkedTime formats a time as in the marker of a gap. A ~ before it means that it is estimated.
func checkedTime(t time.Time, estimated bool) string {
	mark := " "
	if estimated {
		mark = "~"
	}
	if t.IsZero() {
		return " -"
	}
	return mark + t.UTC().Format(ul.TimeLayout)
}

// checkedLevels formats lines by level: "warning=6,info=50", or "-".
func checkedLevels(l check.Levels) string {
	var parts []string
	for level := ul.NumLevels - 1; level >= 0; level-- {
		if n := l[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", ul.Level(level), n))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ",")
}
