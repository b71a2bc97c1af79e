package cat

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/ul"
)

// A gap is a place in a stream where lines are missing.
type gap struct {
	kind   gapKind
	at     time.Time     // zero: unknown
	lines  uint64        // the number of missing lines, except for full
	marker ul.Gap        // only for dropped
	took   time.Duration // only for full: from the line that was cut to the next one; 0: unknown
}

// gapKind is the reason why the lines are missing. The table of docs/read-logs.md is generated
// from the comments.
type gapKind string

const (
	// The sidecar dropped lines because the destination was too slow for too long.
	dropped gapKind = "dropped"

	// The JVM's own queue overflowed (`-Xlog:async`).
	async gapKind = "jvm-async"

	// The tmpfs was full, as happens when the sidecar gets no CPU time. HotSpot discards bytes that do
	// not fit, so the number of lines is unknown, and a gap exactly at the end of a line leaves no
	// trace.
	full gapKind = "jvm-full"
)

// gapTable holds what `ullage logs --gaps` has listed.
type gapTable struct {
	n      int    // gaps in which the sidecar dropped lines
	sum    ul.Gap // sum of their markers
	over   bool   // the sum has overflowed
	jvm    int    // gaps in which the JVM lost lines
	lacks  lacks
	rows   []gapRow
	widths gapWidths // widths of the printed columns; zero before the header
}

// gapRow is one row of the table. Every cell is non-empty and has no space, so that a
// program can split a row at spaces.
type gapRow [8]string

type gapWidths [len(gapRow{})]int

const gapsAtOnce = 4096 // rows that are aligned together

var gapHeader = gapRow{"TIME", "STREAM", "KIND", "LINES", "BYTES", "SECONDS", "DISCARD", "DROP"}

// listGap adds a row for one gap, or prints its object.
func (p *Printer) listGap(stream string, g gap) {
	t := &p.gaps
	t.add(g)
	if p.cfg.JSON {
		p.encodeGap(stream, g)
		return
	}
	t.rows = append(t.rows, g.row(stream))
	if len(t.rows) == gapsAtOnce {
		p.printGaps()
	}
}

// printRows prints the added rows.
func (p *Printer) printRows() {
	p.printGaps()
	p.marks.print(p)
}

// row returns the row for a gap in a stream. A "-" means unknown.
func (g gap) row(stream string) gapRow {
	const none = "-"
	r := gapRow{none, gapStream(stream), string(g.kind), none, none, none, none, none}
	if !g.at.IsZero() {
		r[0] = g.at.UTC().Format(ul.TimeLayout)
	}
	if g.kind != full {
		r[3] = fmt.Sprint(g.lines)
	}
	switch {
	case g.kind == dropped:
		r[4] = fmt.Sprint(g.marker.Bytes)
		r[5] = fmt.Sprintf("%.3f", g.marker.Last.Sub(g.marker.First).Seconds())
		r[6], r[7] = gapLevels(g.marker, ul.Discard), gapLevels(g.marker, ul.DropAll)
	case g.took > 0:
		r[5] = fmt.Sprintf("%.3f", g.took.Seconds())
	}
	return r
}

// printGaps prints the added rows; a header precedes the first ones. Columns are as wide as
// their cells, and never narrower than in earlier rows. The next flush returns any
// write error.
func (p *Printer) printGaps() {
	t := &p.gaps
	if len(t.rows) == 0 {
		return
	}
	if t.widths == (gapWidths{}) {
		t.widths = gapWidths{len(ul.TimeLayout), p.gapWidth(), len(async), 9, 12, 9, 24, 0}
		t.rows = slices.Insert(t.rows, 0, gapHeader)
	}
	for _, row := range t.rows {
		for i, cell := range row[:len(row)-1] {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	w := &t.widths
	for _, r := range t.rows {
		fmt.Fprintf(p.text, "%-*s  %-*s  %-*s  %*s  %*s  %*s  %-*s  %s\n",
			w[0], r[0], w[1], r[1], w[2], r[2], w[3], r[3], w[4], r[4], w[5], r[5], w[6], r[6], r[7])
	}
	t.rows = t.rows[:0]
}

// add counts a gap. Forged markers can have any numbers, so the sum of the gaps may
// overflow.
func (t *gapTable) add(g gap) {
	if g.kind != dropped {
		t.jvm++
		return
	}
	lines := t.sum.Total()
	t.n++
	t.sum.Add(g.marker)
	t.over = t.over || t.sum.Total() < lines || t.sum.Bytes < g.marker.Bytes
}

// summary formats the sum for stderr, so that stdout has only the rows. partial means that not
// everything could be read.
func (t *gapTable) summary(partial bool) string {
	text := "no gaps: nothing was dropped on purpose"
	switch {
	case t.n == 0 && partial:
		text = "no gaps in what could be read"
	case t.n > 0 && t.over:
		text = printable.Plural(t.n, "gap") + ", with more lines or bytes than can be added up: not all of these markers are from 'ullage run'"
	case t.n > 0:
		text = fmt.Sprintf("%s: %s, %s; discard: %s; drop: %s", printable.Plural(t.n, "gap"), printable.Plural(t.sum.Total(), "line"), printable.Plural(t.sum.Bytes, "byte"),
			gapLevels(t.sum, ul.Discard), gapLevels(t.sum, ul.DropAll))
	}
	if t.jvm > 0 {
		text += "; the JVM itself lost lines at " + printable.Plural(t.jvm, "place")
	}
	for _, l := range t.lacks {
		text += "; and " + l.String()
	}
	return text
}

// gapLevels formats the lines of one reason: "warning=6,info=50", or "-".
func gapLevels(g ul.Gap, r ul.Reason) string {
	var parts []string
	for l := ul.NumLevels - 1; l >= 0; l-- {
		if n := g.Lines[r][l]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", ul.Level(l), n))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ",")
}

// gapStream formats the name of a stream with its spaces escaped.
func gapStream(name string) string { return strings.ReplaceAll(printable.Name(name), " ", `\x20`) }

// maxStream bounds the width of the column of names.
const maxStream = 40

// gapWidth returns the width of the column of names for the streams that were found.
func (p *Printer) gapWidth() int {
	width := len("STREAM")
	for _, item := range p.items {
		for _, s := range item.series {
			width = max(width, utf8.RuneCountInString(gapStream(s.name)))
		}
	}
	return min(width, maxStream)
}
