package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// style makes a plot light or dark, like the reader's system.
const style = `text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.bar { fill: #8c959f } .bar.ours { fill: #0969da } .bars { stroke: #8c959f } .bars.ours { stroke: #0969da } .range { stroke: #1f2328; stroke-width: 1.5 } .back { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .bar { fill: #6e7681 } .bar.ours { fill: #388bfd } .bars { stroke: #6e7681 } .bars.ours { stroke: #388bfd } .range { stroke: #e6edf3 } .back { fill: #0d1117 }
}`

// draw writes a plot of the plotted column: for each row, a bar for the median, and a line from the
// least to the largest value.
func (e *experiment) draw(path string) error {
	const step, top, char = 26.0, 34.0, 7.2
	largest, label, bars := 0.0, 0.0, 0
	for _, r := range e.Rows {
		if _, _, high, ok := r.of(e.Plot); ok {
			largest, bars = max(largest, high), bars+1
			label = max(label, char*float64(len([]rune(r.Contestant)))+16)
		}
	}
	width := 720 - label // the length of the longest bar; the rest is for its figure
	if largest == 0 {
		largest = 1
	}
	var s strings.Builder
	height := top + step*float64(bars) + 8
	fmt.Fprintf(&s, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 %.0f\" role=\"img\">\n<style>%s</style>\n", height, style)
	fmt.Fprintf(&s, "<rect class=\"back\" width=\"800\" height=\"%.0f\"/>\n<text x=\"10\" y=\"20\">%s</text>\n", height, escape(e.title(e.Plot)))
	y := top
	for _, r := range e.Rows {
		median, low, high, ok := r.of(e.Plot)
		if !ok {
			continue
		}
		scale := width / largest
		fmt.Fprintf(&s, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", label-8, y+15, escape(r.Contestant))
		fmt.Fprintf(&s, "<rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"18\"/>\n", r.class("bar"), label, y, median*scale)
		fmt.Fprintf(&s, "<path class=\"range\" d=\"M%.1f %.1fH%.1f\"/>\n", label+low*scale, y+9, label+high*scale)
		fmt.Fprintf(&s, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", label+high*scale+8, y+15, figure(median))
		y += step
	}
	s.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(s.String()), 0o644)
}

// class returns the CSS class of a row's marks. The marks of ullage have a colour of their own.
func (r *row) class(mark string) string {
	if strings.Contains(r.Contestant, "ullage") {
		return mark + " ours"
	}
	return mark
}

// title returns the title of a column.
func (e *experiment) title(key string) string {
	for _, c := range e.Columns {
		if c.Key == key {
			return c.Title
		}
	}
	return key
}

func escape(text string) string {
	var s strings.Builder
	_ = xml.EscapeText(&s, []byte(text)) // a write to a Builder never fails
	return s.String()
}
