package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/pause"
)

// table returns a table that scrolls if it is wider than the page.
func table(class, name string, columns []string, rows ...g.Node) g.Node {
	return h.Div(h.Class("scroll"), h.TabIndex("0"), h.Role("region"), h.Aria("label", "table: "+name), bare(class, name, columns, nil, rows...))
}

func bare(class, name string, columns []string, further g.Node, rows ...g.Node) g.Node {
	return h.Table(h.Class(class), h.Aria("label", name),
		h.THead(h.Tr(g.Map(columns, func(c string) g.Node { return h.Th(h.Scope("col"), h.Title(meanings[c]), g.Text(c)) }), further)),
		h.TBody(rows...))
}

// row returns a row of a table that begins with the row's name.
func row(name string, cells ...g.Node) g.Node {
	return h.Tr(h.Th(h.Scope("row"), g.Text(name)), g.Group(cells))
}

func td(text string) g.Node { return h.Td(g.Text(text)) }

func count[T int | uint64](n T) g.Node { return td(Grouped(uint64(n))) }

func comparison(figures [][]string) g.Node {
	var rows g.Group
	for _, f := range figures {
		rows = append(rows, row(f[0], td(f[1]), td(f[2]), td(f[3])))
	}
	return h.Section(h.Aria("label", "comparison"), h.H2(g.Text("Comparison")),
		table("figures", "Comparison", []string{"figure", "A", "B", "change"}, rows...))
}

// completeness lists what is missing.
func (r *Report) completeness() g.Node {
	class, text := "status good", "Complete: the log shows no loss."
	if !r.Complete {
		class, text = "status bad", "Not complete: the figures lack what is listed here."
	}
	return h.Div(h.Class(class), h.Strong(g.Text(text)), g.If(len(r.Problems) > 0, h.Ul(g.Map(r.Problems, func(p Problem) g.Node {
		kind := g.Text(string(p.Kind))
		if p.Loses {
			kind = h.B(kind)
		}
		return h.Li(kind, g.Text(": "+p.Text))
	}))))
}

// tiles shows the most important figures. A count of something bad is marked.
func (r *Report) tiles() g.Node {
	t, longest, worst, stopped, throughput := &r.Totals, "none", none, "stopped", "throughput"
	switch {
	case t.Span > 0 && t.Outside == 0:
		stopped += ", of " + Duration(t.Span)
	case t.Throughput != nil:
		throughput += fmt.Sprintf(", of %d of %s", t.Stops-t.Outside, Plural(t.Stops, "stop"))
	}
	if len(r.Longest) > 0 {
		longest = Duration(r.Longest[0].Duration)
	}
	if w := r.Worst(); w != nil {
		worst = Duration(w.Paused)
	}
	tile := func(name, value string) g.Node {
		figure, _, _ := strings.Cut(name, ",")
		return h.Div(h.Title(meanings[figure]), h.Dt(g.Text(name)), h.Dd(g.Text(value)))
	}
	warn := func(name string, n uint64, means string) g.Node {
		return h.Div(h.Title(means), h.Dt(g.Text(name)), h.Dd(g.If(n > 0, h.Class("warn")), g.Text(Grouped(n))))
	}
	bad := func(name string, n uint64) g.Node { return warn(name, n, meanings[name]) }
	return h.Dl(h.Class("tiles"),
		g.If(t.Crashes > 0, bad("crashes", t.Crashes)),
		tile(throughput, optional(t.Throughput, percent)),
		tile(stopped, Duration(t.Paused)),
		tile("stops", Grouped(t.Stops)),
		tile("longest stop", longest),
		tile("worst minute", worst),
		warn("suspected stalls", t.Suspected, "Stops of "+Duration(r.Floor)+" or more that their own work does not explain: a disk, swapping or a CPU quota can cause them."),
		tile("heap after GC", r.HeapAfter()),
		tile("allocation rate", r.Rate("allocated")),
		tile("promotion rate", r.Rate("promoted")),
		bad("full collections", t.Full),
		bad("evacuation failures", t.Exhausted),
		g.If(t.Humongous > 0, tile("with humongous objects", Grouped(t.Humongous))),
		g.If(t.Humongous == 0 && !r.stalls(), bad("degenerated", t.Degenerated)),
		g.If(r.stalls(), bad("allocation stalls", t.Waits)),
		g.If(t.Failed > 0, bad("failed allocations", t.Failed)),
	)
}

// stalls reports whether the collector makes threads wait for memory, as ZGC does. Such a
// collector has no degenerated collections.
func (r *Report) stalls() bool {
	return r.Totals.Waits > 0 || r.Totals.Degenerated == 0 && slices.ContainsFunc(r.Runs, func(run Run) bool { return strings.HasPrefix(run.Collector, string(pause.Z)) })
}

func (r *Report) timeline() g.Node {
	button := func(do, text string) g.Node { return h.Button(h.Type("button"), h.Data("do", do), g.Text(text)) }
	return block("Stops over time",
		h.Div(h.Class("tools"), h.Span(h.Class("legend kinds")), h.Span(h.Class("buttons"),
			button("in", "zoom in"), g.Text(" "), button("out", "zoom out"), g.Text(" "), button("all", "show all"))),
		h.Div(h.Class("chart timeline"), h.TabIndex("0"), h.Role("img"), h.Aria("label", fmt.Sprintf(
			"Stops over time by kind: %d stops. The tables below have the same figures. Keys: plus and minus zoom, arrows move, 0 shows all.", r.Totals.Stops))),
		h.P(h.Class("hint"), g.Text("Drag to zoom, or use + and −, ← and →, and 0 for all. Each point is the longest stop of its kind within two pixels.")),
		g.If(len(r.Bands) > 0, h.Details(h.Summary(g.Text(Plural(uint64(len(r.Bands)), "band")+" on the axis of time")), h.Ul(g.Map(r.Bands, func(b Band) g.Node {
			return h.Li(g.Text(r.lasting(b) + ": " + b.Text))
		})))))
}

func (r *Report) causes() g.Node {
	rows := g.Map(r.Causes, func(s Spread) g.Node {
		return row(s.Title(), count(s.Count), td(optional(s.Percentiles.P50, Duration)), td(optional(s.Percentiles.P99, Duration)), td(Duration(s.Max)), td(Duration(s.Sum)))
	})
	return h.Div(h.Class("columns"),
		block("By cause", table("figures causes", "Stops by cause", []string{"cause", "n", "p50", "p99", "max", "sum"}, rows...)),
		block("By length", picture("bars", "The number of stops by duration; the table of percentiles has the same figures.")))
}

func (r *Report) longest() g.Node {
	rows := g.Map(r.Longest, func(s Stop) g.Node {
		at := none
		if s.At != nil {
			at = r.At(s)
		}
		return row(Duration(s.Duration), td(at), h.Td(h.Class("text"), g.Text(s.Cause),
			g.If(s.Suspicion != "none", g.Group{g.Text(" "), h.Span(h.Class("warn"), g.Text("suspected: "+s.Suspicion))}),
			g.If(len(s.Lines) > 0, h.Details(h.Summary(g.Text(Plural(uint64(len(s.Lines)), "line"))), h.Pre(text(s.Lines))))),
			td(optional(s.Reaching, Duration)), td(optional(s.User, Duration)), td(optional(s.Sys, Duration)), td(optional(s.Real, Duration)))
	})
	return block("The longest stops", table("figures longest", "The longest stops", []string{"length", "begin", "cause and lines", "to safepoint", "user", "sys", "real"}, rows...))
}

// suspected lists the suspected stops with the lines around them.
func (r *Report) suspected() g.Node {
	rows := g.Map(r.Suspected, func(s *Stop) g.Node {
		at := none
		if s.At != nil {
			at = r.At(*s)
		}
		lines := g.Group{text(s.Before), h.Strong(text(s.Lines)), text(s.After)}
		return row(Duration(s.Duration), td(at), h.Td(h.Class("text"), h.Span(h.Class("warn"), g.Text(s.suspected())), h.Br(), g.Text(s.Cause),
			h.Details(h.Summary(g.Text(Plural(uint64(len(s.Before)+len(s.Lines)+len(s.After)), "line"))), h.Pre(lines))))
	})
	return block("Suspected stalls", table("figures longest", "Suspected stalls", []string{"length", "begin", "what is suspected, cause and lines"}, rows...),
		h.P(h.Class("hint"), g.Text(fmt.Sprintf("The longest %d of %d, of %s or longer (--stall-floor). The lines of the stop itself are bold.", len(r.Suspected), r.Totals.Suspected, Duration(r.Floor)))))
}

// text returns lines of the log. Characters that are invisible or reorder text are escaped.
func text(lines []string) g.Node {
	return g.Map(lines, func(line string) g.Node { return g.Text(printable.Text(line, KeptBytes) + "\n") })
}

func (r *Report) percentiles() g.Node {
	columns := append(append([]string{"duration of", "n"}, percentileNames[:]...), "max")
	rows := g.Map(r.Spreads, func(s Spread) g.Node {
		return row(s.Name, count(s.Count), g.Map(s.Percentiles.List(), func(v *float64) g.Node { return td(optional(v, Duration)) }), td(Duration(s.Max)))
	})
	return block("Percentiles", table("figures", "Percentiles", columns, rows...),
		h.P(h.Class("hint"), g.Text("A – means that the percentile needs more stops than there are.")))
}

func (r *Report) runs() g.Node {
	columns := []string{"stream", "run", "collector", "span", "stops", "throughput", "worst minute", "allocated", "promoted", "heap after GC", "trend", "metaspace"}
	rows := g.Map(r.Runs, func(run Run) g.Node {
		span, worst, collector := none, g.Text(none), run.Collector
		if run.Span > 0 {
			span = Duration(run.Span)
		}
		if run.Worst != nil {
			worst = g.Group{g.Text(Duration(run.Worst.Paused)), h.Br(), g.Text("from " + r.Clock(run.Worst.Begin))}
		}
		if collector == "" {
			collector = "unknown"
		}
		return row(run.Stream, count(run.Number), h.Td(h.Class("text"), g.Text(collector),
			g.If(run.Version != "", g.Group{h.Br(), g.Text(run.Version)}),
			run.flags(),
			g.If(len(run.Settings) > 0, h.Details(h.Summary(g.Text("settings")), h.Ul(g.Map(run.Settings, func(s Setting) g.Node { return h.Li(g.Text(s.Name + ": " + s.Value)) }))))),
			td(span), count(run.Stops), td(optional(run.Throughput, percent)), h.Td(worst),
			td(optional(run.Allocated, perSecond)), td(optional(run.Promoted, perSecond)), td(optional(run.HeapAfter, Size)), td(optional(run.Trend, perHour)), td(optional(run.Metaspace, Size)))
	})
	return block("Runs of JVMs", table("figures runs", "Runs of JVMs", columns, rows...))
}

// volume returns a table of parts of the log, with a bar for each part.
func volume(heading, of string, parts []Share) g.Node {
	rows := g.Map(parts, func(s Share) g.Node {
		bar := h.SVG(g.Attr("viewBox", "0 0 100 10"), g.Attr("preserveAspectRatio", "none"), h.Aria("hidden", "true"),
			g.El("rect", h.Width(strconv.Itoa(share(s, parts))), h.Height("10")))
		return row(s.Name, count(s.Lines), td(Size(s.Size())), h.Td(h.Class("bar"), bar))
	})
	return block(heading, bare("figures volume", heading, []string{of, "lines", "bytes"},
		h.Th(h.Scope("col"), h.Class("bar"), h.Title(meanings["share"]), h.Span(h.Class("hidden"), g.Text("share"))), rows...))
}

// share returns the length of a part's bar, which is 100 for the largest part.
func share(part Share, all []Share) int {
	most := 1.0
	for _, s := range all {
		most = math.Max(most, float64(s.Bytes))
	}
	return int(math.Ceil(100 * float64(part.Bytes) / most))
}

// inputs says what was read.
func inputs(all []Input) string {
	texts := make([]string, len(all))
	for i, in := range all {
		texts[i] = fmt.Sprintf("%s (%s, %s, %s)", in.Name, Plural(uint64(in.Files), "file"), Plural(in.Lines, "line"), Size(in.Size()))
	}
	return strings.Join(texts, "; ")
}
