package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A scheme has the colours of a picture. There are two files, and GitHub shows the one for the
// reader's theme: a media query inside an SVG file does not see that theme.
type scheme struct{ name, text, quiet, back, bad, others, ours string }

var schemes = []scheme{
	{"light", "#1f2328", "#59636e", "#ffffff", "#ffebe9", "#cf222e", "#0969da"},
	{"dark", "#e6edf3", "#9198a1", "#0d1117", "#3c1618", "#ff7b72", "#58a6ff"},
}

// drawFreeze draws, for each scheme, how a frozen disk stalls an application on the newest JDK.
func (r *record) drawFreeze(dir string) error {
	strips := r.freezeStrips()
	if strips == nil {
		return nil
	}
	for _, c := range schemes {
		if err := os.WriteFile(filepath.Join(dir, "freeze-"+c.name+".svg"), []byte(freezePicture(strips, c)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A freezeStrip is the part of the picture for one way to log.
type freezeStrip struct {
	row           *row
	title, result string
	frozen        [2]float64 // from when to when, in seconds
}

// freezeStrips returns the strips for the three ways to log between which a reader chooses, or nil if the
// record lacks one of them.
func (r *record) freezeStrips() (strips []freezeStrip) {
	group := ""
	for _, g := range r.groups("stopped") { // in the order of JDKs
		if strings.HasSuffix(g, ", "+linkedIn.arg) {
			group = g
		}
	}
	jdk, _, _ := strings.Cut(group, ",")
	for _, way := range []struct{ name, title string }{
		{"log on the disk", "log on the disk"}, {"log on the disk, async", "log on the disk, -Xlog:async"}, {shippedLogging, "log on a tmpfs, with ullage"},
	} {
		for _, x := range r.Experiments {
			if found := x.find(group + ": " + way.name); x.Name == "stopped" && len(found.Tenths) > 0 {
				longest, _, _, _ := found.of("longest")
				durable, _, _, _ := found.of("durable")
				strips = append(strips, freezeStrip{
					row: found, title: way.title + " (" + jdk + ")", frozen: x.Shade,
					result: fmt.Sprintf("longest stall %s, %.0f %% of the GC pauses in the log", standstill(longest), durable),
				})
			}
		}
	}
	if len(strips) != 3 {
		return nil
	}
	return strips
}

// freezePicture draws stalls over time, all strips on one linear scale, so that a short stall looks short.
func freezePicture(strips []freezeStrip, c scheme) string {
	const left, right, top, high, gap = 46.0, 790.0, 54.0, 64.0, 34.0
	tenths, most := 1, 0.0
	for _, strip := range strips {
		tenths = max(tenths, len(strip.row.Tenths))
		for _, ms := range strip.row.Tenths {
			most = max(most, ms)
		}
	}
	perTenth := (right - left) / float64(tenths)
	var s strings.Builder
	fmt.Fprintf(&s, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 %.0f\" role=\"img\">\n<style>text { font: 13px system-ui, sans-serif; fill: %s } .quiet { fill: %s; font-size: 11px } .axis { stroke: %[3]s; stroke-width: .5 } .bars { stroke: %[4]s } .ours { stroke: %[5]s }</style>\n",
		top+float64(len(strips))*(high+gap), c.text, c.quiet, c.others, c.ours)
	fmt.Fprintf(&s, "<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n<text x=\"10\" y=\"20\">How long the application stood still, in each tenth of a second. The disk is frozen where it is shaded.</text>\n", c.back)
	for i, strip := range strips {
		base := top + float64(i)*(high+gap) + high
		x := func(second float64) float64 { return left + 10*perTenth*second }
		fmt.Fprintf(&s, "<text x=\"%.0f\" y=\"%.1f\" font-weight=\"600\">%s</text><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, base-high-6, escape(strip.title), right, base-high-6, escape(strip.result))
		fmt.Fprintf(&s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\"/>\n", x(strip.frozen[0]), base-high, x(strip.frozen[1])-x(strip.frozen[0]), high, c.bad)
		bars(&s, strip.row, left, right, base, perTenth, func(ms float64) float64 { return max(1, high*ms/most) })
		fmt.Fprintf(&s, "<path class=\"axis\" d=\"M%.0f %.1fH%.0f\"/><text class=\"quiet\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">0</text><text class=\"quiet\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.0f s</text>\n",
			left, base, right, left-6, base+4, left-6, base-high+9, most/1000)
		for second := 0.0; i == len(strips)-1 && x(second) <= right; second += 2 {
			fmt.Fprintf(&s, "<text class=\"quiet\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f s</text>\n", x(second), base+14, second)
		}
	}
	s.WriteString("</svg>\n")
	return s.String()
}
