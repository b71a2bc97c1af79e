package cat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// markTable holds what `ullage logs --marks` has listed.
type markTable struct {
	n      int // marks
	rows   []markRow
	widths [3]int // widths of all printed columns except the last; zero before the header
}

// markRow is one row of the table. Every cell is non-empty. Only the last cell may have
// spaces.
type markRow [4]string

var markHeader = markRow{"TIME", "STREAM", "KIND", "DETAILS"}

// list adds to the table the mark or the gap to which the series has moved.
func (p *Printer) list(s *series) {
	line := &s.pick.line
	switch g := line.lost; {
	case line.mark != nil:
		p.marks.list(p, s.name, *line.mark)
	case p.cfg.JSON || !p.cfg.Marks:
		p.listGap(s.name, *g)
	default:
		p.gaps.add(*g)
		p.marks.add(p, g.markRow(s.name))
	}
}

// markRow returns the row for a gap in the table of marks, with the cells that are known.
func (g gap) markRow(stream string) markRow {
	r := g.row(stream)
	var details []string
	for i, cell := range r {
		if i > 2 && cell != "-" {
			details = append(details, strings.ToLower(gapHeader[i])+"="+cell)
		}
	}
	return markRow{r[0], r[1], r[2], cmp.Or(strings.Join(details, " "), "-")}
}

// list adds a row for a mark in a series or, with --json, prints the mark as an object.
func (t *markTable) list(p *Printer, series string, m mark.Mark) {
	t.n++
	// In a bucket, the name of a stream begins with its pod.
	stream := strings.TrimSuffix(series, mark.Stream) + m.Get("stream")
	m.Fields = slices.DeleteFunc(slices.Clone(m.Fields), func(f mark.Field) bool { return f.Key == "stream" })
	if p.cfg.JSON {
		printMark(p.text, stream, m)
		return
	}
	name := "-"
	if stream != "" {
		name = gapStream(stream)
	}
	t.add(p, markRow{m.Time.UTC().Format(ul.TimeLayout), name, string(m.Kind), cmp.Or(string(m.AppendDetails(nil)), "-")})
}

func (t *markTable) add(p *Printer, r markRow) {
	if t.rows = append(t.rows, r); len(t.rows) == gapsAtOnce {
		t.print(p)
	}
}

// print prints the added rows, as printGaps does.
func (t *markTable) print(p *Printer) {
	if len(t.rows) == 0 {
		return
	}
	if t.widths[0] == 0 {
		t.widths = [3]int{len(ul.TimeLayout), p.gapWidth(), len(mark.ArchivesMissed)}
		t.rows = slices.Insert(t.rows, 0, markHeader)
	}
	for _, row := range t.rows {
		for i := range t.widths {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	w := &t.widths
	for _, r := range t.rows {
		fmt.Fprintf(p.text, "%-*s  %-*s  %-*s  %s\n", w[0], r[0], w[1], r[1], w[2], r[2], r[3])
	}
	t.rows = t.rows[:0]
}

// summary formats the number of marks followed by the summary of the gaps, for stderr.
func (t *markTable) summary(gaps string) string { return printable.Plural(t.n, "mark") + "; " + gaps }

// markObject is a mark as an object.
type markObject struct {
	Time    string            `json:"time"`
	Stream  string            `json:"stream,omitempty"`
	Kind    mark.Kind         `json:"kind"`
	Level   string            `json:"level"`
	Details map[string]string `json:"details,omitempty"`
}

// printMark prints a mark as an object. The next flush returns any write error.
func printMark(to io.Writer, stream string, m mark.Mark) {
	o := markObject{Time: m.Time.UTC().Format(jsonTime), Stream: stream, Kind: m.Kind, Level: m.Level.String(), Details: map[string]string{}}
	for _, f := range m.Fields {
		o.Details[f.Key] = f.Value
	}
	_ = json.NewEncoder(to).Encode(o)
}
