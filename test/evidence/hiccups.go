package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The scale of hiccups, in milliseconds, is logarithmic.
const leastHiccup, mostHiccup = 0.1, 20_000.0

var decades = []struct {
	ms   float64
	text string
}{{.1, "0.1 ms"}, {1, "1 ms"}, {10, "10 ms"}, {100, "100 ms"}, {1000, "1 s"}, {10_000, "10 s"}}

// hiccupAt returns the position of a hiccup in a chart of the given height.
func hiccupAt(ms, height float64) float64 {
	ms = min(max(ms, leastHiccup), mostHiccup)
	return height * math.Log(ms/leastHiccup) / math.Log(mostHiccup/leastHiccup)
}

const hiccupStyle = `.bad { fill: #d1242f; opacity: .15 } .grid { stroke: #8c959f; stroke-width: .5; opacity: .6 } .small { font-size: 11px } .line { fill: none; stroke-width: 2 }
.c0 { stroke: #57606a } .c1 { stroke: #cf222e } .c2 { stroke: #bf8700 } .c3 { stroke: #8250df } .c4 { stroke: #1a7f37 } .c5 { stroke: #0969da }
@media (prefers-color-scheme: dark) { .c0 { stroke: #8b949e } .c1 { stroke: #ff7b72 } .c2 { stroke: #d29922 } .c3 { stroke: #d2a8ff } .c4 { stroke: #56d364 } .c5 { stroke: #58a6ff } }`

// drawHiccups draws the plots of an experiment with hiccups and shows them on the page.
func (e *experiment) drawHiccups(page *strings.Builder, dir string) error {
	if len(e.Rows) == 0 || len(e.Rows[0].Tenths) == 0 {
		return nil
	}
	for _, plot := range []struct {
		name, title string
		draw        func(path string) error
	}{{"time", "hiccups over time", e.drawTenths}, {"percentiles", "hiccups by percentile", e.drawCurves}} {
		name := fmt.Sprintf("%s-%s.svg", e.Name, plot.name)
		if err := plot.draw(filepath.Join(dir, name)); err != nil {
			return err
		}
		fmt.Fprintf(page, "\n![%s: %s](%s)\n", e.Title, plot.title, name)
	}
	return nil
}

// chart begins a chart.
func chart(s *strings.Builder, width, height float64) {
	fmt.Fprintf(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<style>%s\n%s</style>\n", width, height, style, hiccupStyle)
	fmt.Fprintf(s, "<rect class=\"back\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height)
}

// drawTenths draws the hiccups over time, with a strip for each contestant.
func (e *experiment) drawTenths(path string) error {
	const left, top, strip, gap, right = 70.0, 46.0, 56.0, 26.0, 790.0
	var rows []*row
	tenths := 1
	for _, r := range e.Rows {
		if len(r.Tenths) > 0 {
			rows = append(rows, r)
			tenths = max(tenths, len(r.Tenths))
		}
	}
	perTenth := (right - left) / float64(tenths)
	var s strings.Builder
	bottom := top + float64(len(rows))*(strip+gap)
	chart(&s, 800, bottom+24)
	fmt.Fprintf(&s, "<text x=\"10\" y=\"20\">longest hiccup in each tenth of a second (logarithmic); the disk is bad where it is shaded</text>\n")
	for i, r := range rows {
		base := top + float64(i)*(strip+gap) + strip
		fmt.Fprintf(&s, "<text class=\"small\" x=\"%.0f\" y=\"%.1f\">%s</text>\n", left, base-strip-5, escape(r.Contestant))
		fmt.Fprintf(&s, "<rect class=\"bad\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>\n", left+10*perTenth*e.Shade[0], base-strip, 10*perTenth*(e.Shade[1]-e.Shade[0]), strip)
		for _, d := range []int{1, 3, 5} {
			y := base - hiccupAt(decades[d].ms, strip)
			fmt.Fprintf(&s, "<path class=\"grid\" d=\"M%.0f %.1fH%.0f\"/><text class=\"small\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, y, right, left-6, y+4, decades[d].text)
		}
		bars(&s, r, left, right, base, perTenth, func(ms float64) float64 { return hiccupAt(ms, strip) })
	}
	every := 2
	if tenths > 600 {
		every = 20
	}
	for second := 0; left+float64(second)*10*perTenth <= right; second += every {
		fmt.Fprintf(&s, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d s</text>\n", left+float64(second)*10*perTenth, bottom+4, second)
	}
	s.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(s.String()), 0o644)
}

// bars draws the tenths of a row as one path: hundreds of rectangles would make a page of plots slow to load.
func bars(s *strings.Builder, r *row, left, right, base, perTenth float64, height func(ms float64) float64) {
	var d strings.Builder
	for n, ms := range r.Tenths {
		if x := left + (float64(n)+.4)*perTenth; ms > leastHiccup && x < right {
			fmt.Fprintf(&d, "M%.1f %.0fv-%.1f", x, base, height(ms))
		}
	}
	fmt.Fprintf(s, "<path class=\"%s\" stroke-width=\"%.1f\" d=\"%s\"/>\n", r.class("bars"), 0.8*perTenth, d.String())
}

// The percentiles of a curve, by their column, and their positions on the axis: the number of nines, or more
// for the longest.
var curve = []struct {
	key, text string
	nines     float64
}{{"p50", "50 %", .3}, {"p99", "99 %", 2}, {"p999", "99.9 %", 3}, {"p9999", "99.99 %", 4}, {"p99999", "99.999 %", 5}, {"longest", "longest", 6.2}}

// drawCurves draws the percentiles of the hiccups, with a chart for each group of rows.
func (e *experiment) drawCurves(path string) error {
	const left, right, high, legend = 70.0, 560.0, 190.0, 576.0
	var groups []string
	members := map[string][]*row{}
	for _, r := range e.Rows {
		group, _, ok := strings.Cut(r.Contestant, ": ")
		if !ok {
			continue
		}
		if members[group] == nil {
			groups = append(groups, group)
		}
		members[group] = append(members[group], r)
	}
	var s strings.Builder
	chart(&s, 800, float64(len(groups))*(high+76)+10)
	x := func(nines float64) float64 { return left + (right-left)*nines/curve[len(curve)-1].nines }
	for g, group := range groups {
		base := float64(g)*(high+76) + 36 + high
		fmt.Fprintf(&s, "<text x=\"10\" y=\"%.1f\">%s: hiccups by percentile (both axes logarithmic)</text>\n", base-high-16, escape(group))
		for _, d := range decades {
			y := base - hiccupAt(d.ms, high)
			fmt.Fprintf(&s, "<path class=\"grid\" d=\"M%.0f %.1fH%.0f\"/><text class=\"small\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, y, right, left-6, y+4, d.text)
		}
		for _, c := range curve {
			fmt.Fprintf(&s, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x(c.nines), base+16, c.text)
		}
		for i, r := range members[group] {
			var d []string
			for _, c := range curve {
				if ms, _, _, ok := r.of(c.key); ok {
					d = append(d, fmt.Sprintf("%.1f %.1f", x(c.nines), base-hiccupAt(ms, high)))
				}
			}
			_, name, _ := strings.Cut(r.Contestant, ": ")
			y := base - high + 12 + 20*float64(i)
			color := slices.IndexFunc(loggings, func(l logging) bool { return l.name == name })
			fmt.Fprintf(&s, "<path class=\"line c%d\" d=\"M%s\"/><path class=\"line c%d\" d=\"M%.0f %.1fh20\"/><text class=\"small\" x=\"%.0f\" y=\"%.1f\">%s</text>\n",
				color, strings.Join(d, "L"), color, legend, y, legend+26, y+4, escape(name))
		}
	}
	s.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(s.String()), 0o644)
}
