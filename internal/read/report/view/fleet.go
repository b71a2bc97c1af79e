package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
)

// Fleet compares any number of logs, of which it keeps a few figures each. The zero value has none.
type Fleet struct {
	Figures []Figure  `json:"figures"` // their spread over all logs
	Logs    []Log     `json:"logs"`    // outliers first, the farthest at the top
	Unread  []Missing `json:"unread"`  // logs that are not compared
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
	Complete bool       `json:"complete"`
	Values   []*float64 `json:"values"`
	Outlier  string     `json:"outlier"` // the figure that is farthest from the others; empty: it is not an outlier
	distance float64
}

// Missing is a log that was not read.
type Missing struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// A log is an outlier where a figure is more than outlierDistance robust deviations away from the median: 0.6745
// times the distance over the median of all distances (Iglewicz and Hoaglin). Fewer logs than outlierLogs have
// no usual value.
const (
	outlierDistance = 3.5
	outlierLogs     = 5
)

// figures are what logs are compared by, and how a report shows them.
var figures = [...]struct {
	name   string
	format func(float64) string
	of     func(r *Report) *float64
}{
	{"time stopped", percent, func(r *Report) *float64 { return r.stopped() }},
	{"stop, p50", Duration, func(r *Report) *float64 { return r.spread("stops").Percentiles.P50 }},
	{"stop, p99", Duration, func(r *Report) *float64 { return r.spread("stops").Percentiles.P99 }},
	{"longest stop", Duration, func(r *Report) *float64 { return known(r.spread("stops").Max) }},
	{"longest time to safepoint", Duration, func(r *Report) *float64 { return known(r.spread("time to safepoint").Max) }},
	{"allocated", perSecond, func(r *Report) *float64 { return r.rate("allocated") }},
	{"heap after GC", Size, func(r *Report) *float64 { return r.last() }},
	{"full collections an hour", decimals, func(r *Report) *float64 { return perSpan(r, r.Totals.Full) }},
	{"suspected stalls an hour", decimals, func(r *Report) *float64 { return perSpan(r, r.Totals.Suspected) }},
}

func decimals(v float64) string { return fmt.Sprintf("%.3g", v) }

// perSpan returns how many there are in an hour, or nil where the log does not show its time.
func perSpan(r *Report, n uint64) *float64 {
	if r.Totals.Span <= 0 {
		return nil
	}
	v := float64(n) / r.Totals.Span * 3600
	return &v
}

// stopped returns the share of the time in which the application was stopped.
func (r *Report) stopped() *float64 {
	if r.Totals.Throughput == nil {
		return nil
	}
	v := 1 - *r.Totals.Throughput
	return &v
}

// last returns the heap in use at the end of the last run, if the log is that of one JVM after the other.
func (r *Report) last() *float64 {
	if r.HeapAfter() == none {
		return nil
	}
	return r.Runs[len(r.Runs)-1].HeapAfter
}

// Add takes the figures of a log.
func (f *Fleet) Add(r *Report) {
	l := Log{Name: r.Name, Complete: r.Complete}
	for _, figure := range figures {
		l.Values = append(l.Values, figure.of(r))
	}
	f.Logs = append(f.Logs, l)
}

// Miss notes a log that could not be read.
func (f *Fleet) Miss(name string, err error) {
	f.Unread = append(f.Unread, Missing{Name: name, Why: err.Error()})
}

// Compare works out the spread of each figure and which logs are outliers.
func (f *Fleet) Compare() {
	f.Figures = nil
	fill := func(p float64, sorted []float64) *float64 {
		if len(sorted) == 0 {
			return nil
		}
		return &sorted[int(math.Round(p*float64(len(sorted)-1)))]
	}
	for i, figure := range figures {
		sorted := f.values(i)
		all := Figure{Name: figure.name, format: figure.format,
			Low: fill(0, sorted), Q1: fill(0.25, sorted), Median: fill(0.5, sorted), Q3: fill(0.75, sorted), High: fill(1, sorted)}
		f.Figures = append(f.Figures, all)
		if len(sorted) < outlierLogs {
			continue
		}
		away := make([]float64, len(sorted))
		for j, v := range sorted {
			away[j] = math.Abs(v - *all.Median)
		}
		slices.Sort(away)
		usual := max(*fill(0.5, away)/0.6745, 0.05*math.Abs(*all.Median), 1e-9) // values that are nearly the same have no outliers
		for j := range f.Logs {
			l := &f.Logs[j]
			if v := l.Values[i]; v != nil && math.Abs(*v-*all.Median)/usual > max(outlierDistance, l.distance) {
				l.distance = math.Abs(*v-*all.Median) / usual
				l.Outlier = figure.name
			}
		}
	}
	slices.SortStableFunc(f.Logs, func(a, b Log) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.Name, b.Name))
	})
}

// values returns the values of a figure that are known, sorted.
func (f *Fleet) values(i int) []float64 {
	var all []float64
	for _, l := range f.Logs {
		if l.Values[i] != nil {
			all = append(all, *l.Values[i])
		}
	}
	slices.Sort(all)
	return all
}

// table returns a header, the spread in five rows, and a row for each log.
func (f *Fleet) table() [][]string {
	header := []string{"LOG"}
	for _, figure := range f.Figures {
		header = append(header, strings.ToUpper(figure.Name))
	}
	rows := [][]string{append(header, "OUTLIER BY")}
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
		rows = append(rows, append(row, ""))
	}
	for _, l := range f.Logs {
		row := []string{printable.Text(l.Name, 80)}
		if !l.Complete {
			row[0] += " (not complete)"
		}
		for i, v := range l.Values {
			row = append(row, optional(v, f.Figures[i].format))
		}
		rows = append(rows, append(row, l.Outlier))
	}
	return rows
}

// Text writes the comparison for a terminal.
func (f *Fleet) Text(w io.Writer, style Style) error {
	p := &printer{style: style}
	p.heading(fmt.Sprintf("Comparison of %d logs", len(f.Logs)))
	p.table(f.table())
	for _, m := range f.Unread {
		fmt.Fprintf(p, "not compared: %s: %s\n", printable.Text(m.Name, 80), printable.Text(m.Why, KeptBytes))
	}
	_, err := p.WriteTo(w)
	return err
}

// JSON writes the comparison as one object.
func (f *Fleet) JSON(w io.Writer) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the comparison: %w", err)
	}
	if _, err := io.WriteString(w, printable.JSON(string(text))+"\n"); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

// HTML writes the comparison as a page that needs nothing but itself.
func (f *Fleet) HTML(w io.Writer) error {
	all := f.table()
	rows := g.Map(all[1:], func(cells []string) g.Node { return row(cells[0], g.Map(cells[1:], td)) })
	title := fmt.Sprintf("%d logs, outliers first", len(f.Logs))
	return page(w, title, h.Section(h.Aria("label", "comparison"), h.H2(g.Text("Comparison")),
		table("figures", "Comparison", all[0], rows...),
		g.If(len(f.Unread) > 0, h.Div(h.Class("status bad"), h.Strong(g.Text("Not compared:")), h.Ul(g.Map(f.Unread, func(m Missing) g.Node {
			return h.Li(g.Text(m.Name + ": " + m.Why))
		}))))))
}
