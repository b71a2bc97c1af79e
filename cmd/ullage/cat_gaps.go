package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/ul"
)

// catGaps is what `ullage cat --gaps` has listed.
type catGaps struct {
	n      int
	sum    ul.Gap
	over   bool // the sum is more than its numbers hold
	rows   []catGapRow
	widths catGapWidths // of what is printed; zero before the header
}

// catGapRow is one row of the table. None of its cells is ever empty or has a
// space in it, so that a row can be split at spaces.
type catGapRow [7]string

type catGapWidths [len(catGapRow{})]int

const (
	catGapTime    = "2006-01-02T15:04:05.000-0700" // as in the marker
	catGapsAtOnce = 4096                           // rows that are lined up with each other
)

var catGapHeader = catGapRow{"TIME", "STREAM", "LINES", "BYTES", "SECONDS", "DISCARD", "DROP"}

// listGap enters the row of one gap.
func (c *cat) listGap(stream string, g ul.Gap) {
	t := &c.gaps
	t.add(g)
	t.rows = append(t.rows, catGapRow{
		g.First.Format(catGapTime), gapStream(stream), fmt.Sprint(g.Total()), fmt.Sprint(g.Bytes),
		fmt.Sprintf("%.3f", g.Last.Sub(g.First).Seconds()), gapLevels(g, ul.Discard), gapLevels(g, ul.DropAll)})
	if len(t.rows) == catGapsAtOnce {
		c.printGaps()
	}
}

// printGaps prints the rows that were entered, the first ones behind the header,
// in columns that are as wide as they need to be. Later rows never have narrower
// columns. An error of the output comes again with the next flush.
func (c *cat) printGaps() {
	t := &c.gaps
	if len(t.rows) == 0 {
		return
	}
	if t.widths == (catGapWidths{}) {
		t.widths = catGapWidths{len(catGapTime), c.gapWidth(), 9, 12, 9, 24, 0}
		t.rows = slices.Insert(t.rows, 0, catGapHeader)
	}
	for _, row := range t.rows {
		for i, cell := range row[:len(row)-1] {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	w := &t.widths
	for _, r := range t.rows {
		fmt.Fprintf(c.out, "%-*s  %-*s  %*s  %*s  %*s  %-*s  %s\n",
			w[0], r[0], w[1], r[1], w[2], r[2], w[3], r[3], w[4], r[4], w[5], r[5], r[6])
	}
	t.rows = t.rows[:0]
}

// add counts a gap. Markers can be forged, with any numbers, so the sum may be
// more than there are numbers for.
func (t *catGaps) add(g ul.Gap) {
	lines := t.sum.Total()
	t.n++
	t.sum.Add(g)
	t.over = t.over || t.sum.Total() < lines || t.sum.Bytes < g.Bytes
}

// tellGaps tells the sum on stderr, out of the way of whoever takes the rows
// apart.
func (c *cat) tellGaps() {
	t := &c.gaps
	number := fmt.Sprintf("%d gaps", t.n)
	if t.n == 1 {
		number = "1 gap"
	}
	switch {
	case t.n == 0 && c.failed:
		c.note("no gaps in what could be read")
	case t.n == 0:
		c.note("no gaps: nothing was dropped on purpose")
	case t.over:
		c.note("%s, of more lines or bytes than can be added up: not all of these markers are from 'ullage run'", number)
	default:
		c.note("%s: %d lines, %d bytes; discard: %s; drop: %s", number, t.sum.Total(), t.sum.Bytes,
			gapLevels(t.sum, ul.Discard), gapLevels(t.sum, ul.DropAll))
	}
}

// gapLevels renders the lines of one reason: "warning=6,info=50", or "-".
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

// gapStream renders the name of a stream without spaces: quoted if it has any.
func gapStream(name string) string { return strings.ReplaceAll(catName(name), " ", `\x20`) }

// gapWidth returns the width for the names of the streams that there are.
func (c *cat) gapWidth() int {
	width := len("STREAM")
	for _, item := range c.items {
		for _, s := range item.series {
			width = max(width, utf8.RuneCountInString(gapStream(s.name)))
		}
	}
	return min(width, 2*maxName)
}
