package view

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
)

// Fleet compares any number of logs. It keeps only a few figures of each. The zero value has none.
type Fleet struct {
	Groups  *Groups   `json:"groups"`  // how the two groups differ (`vs`); null: the logs are one group
	Figures []Figure  `json:"figures"` // the spread of each figure over all logs
	Logs    []Log     `json:"logs"`    // a value for each of `figures`, in their order; outliers of their group first, the most distant at the top
	Unread  []Missing `json:"unread"`  // logs that are not compared, and why
	Marked  int       `json:"marked"`  // number of logs that were not read: their values are from the marks of the sidecar
}

// Figure is the spread of a figure. Logs that do not show the figure are left out.
type Figure struct {
	Name   string   `json:"name"`
	Low    *float64 `json:"lowest"`
	Q1     *float64 `json:"first_quartile"`
	Median *float64 `json:"median"`
	Q3     *float64 `json:"third_quartile"`
	High   *float64 `json:"highest"`
	format func(float64) string
}

// Log is one log of a comparison, with a value for each figure.
type Log struct {
	Name     string     `json:"name"`
	Group    string     `json:"group"` // A or B; empty: there are no groups
	Complete bool       `json:"complete"`
	Values   []*float64 `json:"values"`
	Outlier  string     `json:"outlier"` // the figure by which it is farthest out; empty: it is not an outlier
	distance float64
	span     float64 // of the time in the log, in seconds; 0: unknown
}

// Missing is a log that was not read.
type Missing struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// A log is an outlier if a figure is farther than outlierDistance from the median of its group, by the measure of
// Iglewicz and Hoaglin: 0.6745 times the distance, divided by the median of all distances. Fewer logs than
// outlierLogs do not show what is usual.
const (
	outlierDistance = 3.5
	outlierLogs     = 5
)

// figures are the figures by which logs are compared, and how a report shows them.
var figures = [...]struct {
	name   string
	format func(float64) string
	of     func(r *Report) *float64
	grows  bool // the figure grows with the time in the log
}{
	{name: "time stopped", format: percent, of: func(r *Report) *float64 { return r.stopped() }},
	{name: "stop, p50", format: Duration, of: func(r *Report) *float64 { return r.spread("stops").Percentiles.P50 }},
	{name: "stop, p99", format: Duration, of: func(r *Report) *float64 { return r.spread("stops").Percentiles.P99 }},
	{name: "longest stop", format: Duration, of: func(r *Report) *float64 { return known(r.spread("stops").Max) }, grows: true},
	{name: "longest time to safepoint", format: Duration, of: func(r *Report) *float64 { return known(r.spread("time to safepoint").Max) }, grows: true},
	{name: "allocated", format: perSecond, of: func(r *Report) *float64 { return r.rate("allocated") }},
	{name: "heap after GC", format: Size, of: func(r *Report) *float64 { return r.last() }},
	{name: "full collections an hour", format: decimals, of: func(r *Report) *float64 { return perSpan(r, r.Totals.Full) }},
	{name: "suspected stalls an hour", format: decimals, of: func(r *Report) *float64 { return perSpan(r, r.Totals.Suspected) }},
}

func decimals(v float64) string { return fmt.Sprintf("%.3g", v) }

// perSpan returns a count per hour, or nil if the log does not show how long it covers.
func perSpan(r *Report, n uint64) *float64 {
	if r.Totals.Span <= 0 {
		return nil
	}
	v := float64(n) / r.Totals.Span * 3600
	return &v
}

// stopped returns the share of the time for which the application was stopped.
func (r *Report) stopped() *float64 {
	if r.Totals.Throughput == nil {
		return nil
	}
	v := 1 - *r.Totals.Throughput
	return &v
}

// last returns the heap in use at the end of the last run, provided that only one JVM at a time
// wrote the log.
func (r *Report) last() *float64 {
	if r.HeapAfter() == none {
		return nil
	}
	return r.Runs[len(r.Runs)-1].HeapAfter
}

// Add adds the figures of a log to a group, whose name is empty if there are no groups.
func (f *Fleet) Add(group string, r *Report) {
	l := Log{Name: r.Name, Group: group, Complete: r.Complete, span: r.Totals.Span}
	if slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == ProblemMarked }) {
		f.Marked++
	}
	for _, figure := range figures {
		l.Values = append(l.Values, figure.of(r))
	}
	f.Logs = append(f.Logs, l)
}

// Miss records a log that could not be read.
func (f *Fleet) Miss(name string, err error) {
	f.Unread = append(f.Unread, Missing{Name: name, Why: err.Error()})
}

// Compare computes the spread of each figure and finds the outliers, with all logs in one
// group.
func (f *Fleet) Compare() { f.compare("") }

// CompareGroups does the same for the logs of the groups A and B, and computes how the two differ.
func (f *Fleet) CompareGroups() {
	f.compare(GroupA, GroupB)
	f.Groups = f.groups()
}

func (f *Fleet) compare(groups ...string) {
	f.Figures = nil
	if f.Unread == nil {
		f.Unread = []Missing{} // in JSON, a list
	}
	for i, figure := range figures {
		all := f.spread(i)
		all.Name, all.format = figure.name, figure.format
		f.Figures = append(f.Figures, all)
		for _, group := range groups {
			f.outliers(i, group)
		}
	}
	slices.SortFunc(f.Logs, func(a, b Log) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	})
}

// spread returns the spread of a figure over all logs.
func (f *Fleet) spread(i int) Figure {
	sorted := slices.Concat(f.values(i, GroupA), f.values(i, GroupB), f.values(i, ""))
	slices.Sort(sorted)
	at := func(p float64) *float64 {
		if len(sorted) == 0 {
			return nil
		}
		return &sorted[int(math.Round(p*float64(len(sorted)-1)))]
	}
	return Figure{Low: at(0), Q1: at(0.25), Median: at(0.5), Q3: at(0.75), High: at(1)}
}

// outliers marks the logs of a group for which a figure is an outlier, unless another figure of the
// log is farther out.
func (f *Fleet) outliers(i int, group string) {
	sorted := f.values(i, group)
	if len(sorted) < outlierLogs {
		return
	}
	median := medianOf(sorted)
	away := make([]float64, len(sorted))
	for j, v := range sorted {
		away[j] = math.Abs(v - median)
	}
	slices.Sort(away)
	usual := max(medianOf(away)/0.6745, 0.05*math.Abs(median), 1e-9) // nearly equal values have no outliers
	for j := range f.Logs {
		l := &f.Logs[j]
		if v := l.Values[i]; v != nil && l.Group == group && math.Abs(*v-median)/usual > max(outlierDistance, l.distance) {
			l.distance, l.Outlier = math.Abs(*v-median)/usual, figures[i].name
		}
	}
}

// values returns the known values of a figure in a group, sorted.
func (f *Fleet) values(i int, group string) []float64 {
	var all []float64
	for _, l := range f.Logs {
		if l.Values[i] != nil && l.Group == group {
			all = append(all, *l.Values[i])
		}
	}
	slices.Sort(all)
	return all
}

// header returns the column titles of a table whose first column has the given title.
func (f *Fleet) header(name string) []string {
	header := []string{name}
	for _, figure := range f.Figures {
		header = append(header, figure.Name)
	}
	return header
}

// spreads returns five rows with the spread of all figures.
func (f *Fleet) spreads() (rows [][]string) {
	for _, s := range []struct {
		name string
		of   func(Figure) *float64
	}{
		{"lowest", func(a Figure) *float64 { return a.Low }}, {"first quartile", func(a Figure) *float64 { return a.Q1 }},
		{"median", func(a Figure) *float64 { return a.Median }}, {"third quartile", func(a Figure) *float64 { return a.Q3 }},
		{"highest", func(a Figure) *float64 { return a.High }},
	} {
		row := []string{s.name}
		for _, figure := range f.Figures {
			row = append(row, optional(s.of(figure), figure.format))
		}
		rows = append(rows, row)
	}
	return rows
}

// row returns the name of a log and its values.
func (f *Fleet) row(l Log) []string {
	row := []string{l.title()}
	for i, v := range l.Values {
		row = append(row, optional(v, f.Figures[i].format))
	}
	return row
}

func (l Log) title() string {
	name := printable.Text(l.Name, 80)
	if l.Group != "" {
		name = l.Group + ": " + name
	}
	if !l.Complete {
		name += " (not complete)"
	}
	return name
}

// Text writes the comparison for a terminal.
func (f *Fleet) Text(w io.Writer, style Style) error {
	p := &printer{style: style}
	p.heading(fmt.Sprintf("Comparison of %d logs", len(f.Logs)))
	if f.Groups != nil {
		fmt.Fprintln(p, f.Groups.Verdict)
		p.table(append([][]string{upper(differenceColumns[:])}, f.Groups.rows()...))
		p.WriteByte('\n')
	}
	rows := [][]string{append(upper(f.header("log")), "OUTLIER BY")}
	for _, spread := range f.spreads() {
		rows = append(rows, append(spread, ""))
	}
	for _, l := range f.Logs {
		rows = append(rows, append(f.row(l), l.Outlier))
	}
	p.table(rows)
	if f.Marked > 0 {
		fmt.Fprintln(p, f.marked())
	}
	for _, m := range f.Unread {
		fmt.Fprintf(p, "not compared: %s: %s\n", printable.Text(m.Name, 80), printable.Text(m.Why, KeptBytes))
	}
	_, err := p.WriteTo(w)
	return err
}

// marked says for how many logs the values are from marks.
func (f *Fleet) marked() string {
	return fmt.Sprintf("For %d of %d logs, the values are from the marks of the sidecar, and the log was not read. Their percentiles are within 4 %%, up to twelve minutes may be missing at either end, and lines that a JVM lost on a full tmpfs are not noticed.", f.Marked, len(f.Logs))
}

func upper(names []string) (all []string) {
	for _, name := range names {
		all = append(all, strings.ToUpper(name))
	}
	return all
}

// JSON writes the comparison as one object.
func (f *Fleet) JSON(w io.Writer) error { return writeJSON(w, f, "comparison") }

// HTML writes the comparison as a page that does not load anything.
func (f *Fleet) HTML(w io.Writer) error {
	title := fmt.Sprintf("%d logs, outliers first", len(f.Logs))
	spreads := g.Map(f.spreads(), func(cells []string) g.Node { return row(cells[0], g.Map(cells[1:], td)) })
	var groups g.Node
	if f.Groups != nil {
		groups = f.Groups.section()
	}
	return page(w, title,
		g.If(len(f.Unread) > 0, h.Div(h.Class("status bad"), h.Strong(g.Text("Not compared:")), h.Ul(g.Map(f.Unread, func(m Missing) g.Node {
			return h.Li(g.Text(printable.Text(m.Name, 80) + ": " + printable.Text(m.Why, KeptBytes)))
		})))),
		groups,
		h.Section(h.Aria("label", "spread"), h.H2(g.Text("Spread")), table("figures", "Spread", f.header("over all logs"), spreads...)),
		h.Section(h.Aria("label", "comparison"), h.H2(g.Text("Comparison")), table("figures many", "Comparison", f.header("log"), g.Map(f.Logs, f.htmlRow)...),
			g.If(f.Marked > 0, h.P(h.Class("hint"), g.Text(f.marked())))))
}

// htmlRow returns the row of a log. If a figure makes the log an outlier, that figure is
// marked.
func (f *Fleet) htmlRow(l Log) g.Node {
	var cells g.Group
	for i, text := range f.row(l)[1:] {
		cell := td(text)
		if f.Figures[i].Name == l.Outlier {
			cell = h.Td(h.Strong(h.Class("warn"), g.Text(text), h.Span(h.Class("hidden"), g.Text(" outlier"))))
		}
		cells = append(cells, cell)
	}
	return row(l.title(), cells)
}
