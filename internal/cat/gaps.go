package cat

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/ul"
)

// gapTable holds what `ullage cat --gaps` has listed.
type gapTable struct {
	n      int
	sum    ul.Gap
	over   bool // the sum overflows its numbers
	rows   []gapRow
	widths gapWidths // widths of the printed columns; zero before the header
}

// gapRow is one row of the table. Every cell is non-empty and has no space, so
// that a program can split a row at spaces.
type gapRow [7]string

type gapWidths [len(gapRow{})]int

const (
	gapTime    = "2006-01-02T15:04:05.000-0700" // as in the marker
	gapsAtOnce = 4096                           // rows that are aligned together
)

var gapHeader = gapRow{"TIME", "STREAM", "LINES", "BYTES", "SECONDS", "DISCARD", "DROP"}

// listGap adds a row for one gap, or prints its object.
func (p *Printer) listGap(stream string, g ul.Gap) {
	t := &p.gaps
	t.add(g)
	if p.cfg.JSON {
		p.printGap(stream, g)
		return
	}
	t.rows = append(t.rows, gapRow{
		g.First.Format(gapTime), gapStream(stream), fmt.Sprint(g.Total()), fmt.Sprint(g.Bytes),
		fmt.Sprintf("%.3f", g.Last.Sub(g.First).Seconds()), gapLevels(g, ul.Discard), gapLevels(g, ul.DropAll)})
	if len(t.rows) == gapsAtOnce {
		p.printGaps()
	}
}

// printGaps prints the added rows, the first ones after the header. Columns are
// as wide as their cells, and never narrower than in earlier rows. An error of
// the output is returned again by the next flush.
func (p *Printer) printGaps() {
	t := &p.gaps
	if len(t.rows) == 0 {
		return
	}
	if t.widths == (gapWidths{}) {
		t.widths = gapWidths{len(gapTime), p.gapWidth(), 9, 12, 9, 24, 0}
		t.rows = slices.Insert(t.rows, 0, gapHeader)
	}
	for _, row := range t.rows {
		for i, cell := range row[:len(row)-1] {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	w := &t.widths
	for _, r := range t.rows {
		fmt.Fprintf(p.text, "%-*s  %-*s  %*s  %*s  %*s  %-*s  %s\n",
			w[0], r[0], w[1], r[1], w[2], r[2], w[3], r[3], w[4], r[4], w[5], r[5], r[6])
	}
	t.rows = t.rows[:0]
}

// add counts a gap. Markers can be forged with any numbers, so the sum may
// overflow.
func (t *gapTable) add(g ul.Gap) {
	lines := t.sum.Total()
	t.n++
	t.sum.Add(g)
	t.over = t.over || t.sum.Total() < lines || t.sum.Bytes < g.Bytes
}

// summary formats the sum for stderr, so that stdout holds the rows alone.
// partial reports that not everything could be read.
func (t *gapTable) summary(partial bool) string {
	number := fmt.Sprintf("%d gaps", t.n)
	if t.n == 1 {
		number = "1 gap"
	}
	switch {
	case t.n == 0 && partial:
		return "no gaps in what could be read"
	case t.n == 0:
		return "no gaps: nothing was dropped on purpose"
	case t.over:
		return number + ", of more lines or bytes than can be added up: not all of these markers are from 'ullage run'"
	}
	return fmt.Sprintf("%s: %d lines, %d bytes; discard: %s; drop: %s", number, t.sum.Total(), t.sum.Bytes,
		gapLevels(t.sum, ul.Discard), gapLevels(t.sum, ul.DropAll))
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

// gapStream formats the name of a stream without spaces: it quotes a name with
// spaces.
func gapStream(name string) string { return strings.ReplaceAll(quoted(name), " ", `\x20`) }

// maxStream bounds the width of the column of names.
const maxStream = 40

// gapWidth returns the width of the column of names, for the streams found.
func (p *Printer) gapWidth() int {
	width := len("STREAM")
	for _, item := range p.items {
		for _, s := range item.series {
			width = max(width, utf8.RuneCountInString(gapStream(s.name)))
		}
	}
	return min(width, maxStream)
}
