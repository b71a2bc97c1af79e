package chart

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/test/lab"
)

// drawnFile is the dashboard as a page for the tests in a browser.
const drawnFile = "../../bin/browser/dashboard.html"

const (
	drawnTime = 12 * time.Second // the time that the panels show
	plotWide  = 400.0            // pixels of a plot, before the browser scales it
	plotHigh  = 120.0
)

// series is one of Prometheus's answers over time.
type series struct {
	Metric map[string]string
	Values [][2]any
}

// at returns the second and the value of a point. The value may be NaN.
func (s series) at(n int) (second, value float64) {
	second, _ = s.Values[n][0].(float64)
	text, _ := s.Values[n][1].(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		value = math.NaN()
	}
	return second, value
}

// plot is the content of a panel.
type plot struct {
	panel     panel
	names     []string
	series    []series
	from, to  time.Time
	least     float64 // of all values
	greatest  float64
	something bool // there is a value
}

// drawDashboard writes the dashboard as a page with Prometheus's answers. The page shows, without a Grafana, whether
// each panel has data, and in which unit.
func drawDashboard(t *testing.T, p scraper) {
	t.Helper()
	to := p.seen(t, drawnTime)
	var panels []g.Node
	for _, one := range readDashboard(t).Panels {
		place := fmt.Sprintf("grid-column: %d / span %d; grid-row: %d / span %d", one.Grid.X+1, one.Grid.W, one.Grid.Y+1, one.Grid.H)
		if one.Type == "row" {
			panels = append(panels, h.H2(h.Style(place), g.Text(one.Title)))
			continue
		}
		shown := p.plot(t, one, to.Add(-drawnTime), to)
		if !shown.something {
			t.Errorf("%s: there is no value to draw, want one", one.Title)
		}
		panels = append(panels, h.Section(h.Class(one.Type), h.Style(place), h.Title(one.Description), h.H3(g.Text(one.Title)), shown.draw()))
	}
	style, err := os.ReadFile("testdata/dashboard.css")
	if err != nil {
		t.Fatal(err)
	}
	page := h.Doctype(h.HTML(h.Lang("en"), h.Head(h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width")),
		h.TitleEl(g.Text("Dashboard of ullage")), h.StyleEl(g.Raw(string(style)))), h.Body(h.H1(g.Text("Dashboard")), h.Main(panels...))))
	var text strings.Builder
	if err := page.Render(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(drawnFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(drawnFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// seen waits until the JVM has been observed for the given time. It returns the current time then.
func (p scraper) seen(t *testing.T, long time.Duration) time.Time {
	t.Helper()
	for deadline := time.Now().Add(lab.Patience); !p.answers(t, fmt.Sprintf("rate(ullage_read_lines_total[$__rate_interval] offset %.0fs)", long.Seconds())); {
		if time.Now().After(deadline) {
			t.Fatalf("the JVM was not observed for %s, want it to be", long)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Now()
}

// plot queries the series of a panel.
func (p scraper) plot(t *testing.T, of panel, from, to time.Time) *plot {
	t.Helper()
	shown := &plot{panel: of, from: from, to: to, least: math.Inf(1), greatest: math.Inf(-1)}
	for _, target := range of.Targets {
		var data struct{ Result []series }
		p.get(t, fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=1", url.QueryEscape(grafana.Replace(target.Expr)), from.Unix(), to.Unix()), &data)
		for _, s := range data.Result {
			shown.series = append(shown.series, s)
			shown.names = append(shown.names, legend(target.Legend, s.Metric))
			for n := range s.Values {
				if _, v := s.at(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
					shown.something = true
					shown.least, shown.greatest = min(shown.least, v), max(shown.greatest, v)
				}
			}
		}
	}
	return shown
}

var legendLabel = regexp.MustCompile(`{{(\w+)}}`)

// legend inserts the labels into the name of a series.
func legend(form string, labels map[string]string) string {
	return legendLabel.ReplaceAllStringFunc(form, func(m string) string { return labels[strings.Trim(m, "{}")] })
}

func (p *plot) draw() g.Node {
	switch {
	case !p.something:
		return h.P(g.Text("no data"))
	case p.panel.Type == "stat":
		_, last := p.series[0].at(len(p.series[0].Values) - 1)
		return h.P(g.Text(p.amount(last)))
	case p.panel.Type == "heatmap":
		return p.frame(p.cells())
	}
	if p.least = min(p.least, 0); p.greatest == p.least {
		p.greatest++
	}
	marks := g.Group{p.label(0, p.greatest), p.label(plotHigh, p.least)}
	var names g.Group
	for i, s := range p.series {
		class := h.Class(fmt.Sprintf("series s%d", i%8))
		marks = append(marks, g.El("path", class, g.Attr("d", p.path(s))))
		names = append(names, h.Li(class, g.Text(p.names[i])))
	}
	return g.Group{p.frame(marks), h.Ul(names)}
}

// path returns the line of a series. A value that is not a number interrupts it.
func (p *plot) path(s series) string {
	var d strings.Builder
	pen := "M"
	for n := range s.Values {
		second, v := s.at(n)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			pen = "M"
			continue
		}
		y := plotHigh * (1 - (v-p.least)/(p.greatest-p.least))
		fmt.Fprintf(&d, "%s%.1f %.1fh1", pen, p.x(second), y) // a single point is visible too
		pen = "L"
	}
	return d.String()
}

func (p *plot) x(second float64) float64 {
	return plotWide * (second - float64(p.from.Unix())) / p.to.Sub(p.from).Seconds()
}

// cells returns the rectangles of a heatmap. The series are cumulative buckets.
func (p *plot) cells() g.Node {
	type bucket struct {
		bound float64
		series
	}
	var all []bucket
	for _, s := range p.series {
		if bound, err := strconv.ParseFloat(s.Metric["le"], 64); err == nil {
			all = append(all, bucket{bound, s})
		}
	}
	slices.SortFunc(all, func(a, b bucket) int { return int(math.Copysign(1, a.bound-b.bound)) })
	high := plotHigh / float64(len(all))
	marks := g.Group{p.label(0, all[len(all)-2].bound), p.label(plotHigh, all[0].bound)}
	for i := range all {
		for n := range all[i].Values {
			second, count := all[i].at(n)
			if i > 0 && n < len(all[i-1].Values) {
				_, below := all[i-1].at(n)
				count -= below
			}
			if count > 0 && second > float64(p.from.Unix()) { // a cell is the second before its time
				marks = append(marks, g.El("rect", h.Class("cell"), attr("x", p.x(second-1)), attr("y", plotHigh-high*float64(i+1)), attr("width", plotWide/drawnTime.Seconds()-1),
					attr("height", high-1), attr("fill-opacity", min(1, 0.2+count/p.greatest))))
			}
		}
	}
	return marks
}

// frame returns the picture with its time axis.
func (p *plot) frame(marks g.Node) g.Node {
	const left, below = 110, 22
	return g.El("svg", g.Attr("viewBox", fmt.Sprintf("%d -8 %.0f %.0f", -left, plotWide+left+8, plotHigh+below+8)), g.Attr("role", "img"), g.Attr("aria-label", p.panel.Title),
		g.El("rect", h.Class("frame"), attr("width", plotWide), attr("height", plotHigh)), marks,
		g.El("text", attr("x", 0), attr("y", plotHigh+16), g.Text(p.from.Format("15:04:05"))),
		g.El("text", attr("x", plotWide), attr("y", plotHigh+16), g.Attr("text-anchor", "end"), g.Text(p.to.Format("15:04:05"))))
}

// label names a value at the left axis.
func (p *plot) label(y, v float64) g.Node {
	return g.El("text", h.Class("value"), attr("x", -6), attr("y", y+4), g.Attr("text-anchor", "end"), g.Text(p.amount(v)))
}

func attr(name string, v float64) g.Node { return g.Attr(name, strconv.FormatFloat(v, 'f', 2, 64)) }

// amount writes a value in the unit of the panel.
func (p *plot) amount(v float64) string {
	unit := p.panel.FieldConfig.Defaults.Unit
	switch name, named := strings.CutPrefix(unit, "suffix:"); {
	case named:
		return figure(v) + name
	case unit == "percentunit":
		return figure(100*v) + " %"
	case unit == "s" && math.Abs(v) >= 3600:
		return figure(v/3600) + " h"
	case unit == "s" && math.Abs(v) < 1:
		return figure(1000*v) + " ms"
	case unit == "s":
		return figure(v) + " s"
	case unit == "bytes" || unit == "Bps":
		return bytesOf(v) + map[string]string{"Bps": "/s"}[unit]
	}
	return figure(v)
}

// figure writes a value with at most three decimals.
func figure(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

func bytesOf(v float64) string {
	prefixes := []string{"", "Ki", "Mi", "Gi", "Ti"}
	i := 0
	for ; math.Abs(v) >= 1024 && i < len(prefixes)-1; i++ {
		v /= 1024
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " " + prefixes[i] + "B"
}
