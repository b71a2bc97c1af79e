package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
)

// Style says how text is written.
type Style struct {
	Color bool
}

// printer writes a report as text.
type printer struct {
	bytes.Buffer
	r     *Report
	style Style
}

// Text writes whole reports for a terminal. For two reports, it writes their comparison
// first.
func Text(w io.Writer, style Style, all ...*Report) error {
	if len(all) == 2 {
		p := &printer{style: style}
		p.heading("Comparison")
		p.table(Compare(all[0], all[1]))
		p.WriteByte('\n')
		if _, err := p.WriteTo(w); err != nil {
			return err
		}
	}
	for i, r := range all {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := r.text(w, style); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) text(w io.Writer, style Style) error {
	p := &printer{r: r, style: style}
	p.summary()
	p.advice()
	if len(r.Causes) > 0 {
		p.causes()
		p.phases()
		p.percentiles()
		p.histogram()
		p.longest()
		p.suspected()
	}
	p.runs()
	p.volume()
	_, err := p.WriteTo(w)
	return err
}

// Summary writes a summary of the report in a few lines.
func Summary(w io.Writer, style Style, r *Report) error {
	p := &printer{r: r, style: style}
	p.summary()
	_, err := p.WriteTo(w)
	return err
}

// Pauses writes the table by cause, the longest stops and the suspected ones.
func (r *Report) Pauses(w io.Writer, style Style) error {
	p := &printer{r: r, style: style}
	p.summary()
	if len(r.Causes) > 0 {
		p.causes()
		p.longest()
		p.suspected()
	}
	_, err := p.WriteTo(w)
	return err
}

// heading writes the title of a part.
func (p *printer) heading(text string) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(p.paint("1", text) + "\n")
}

// paint colors a text.
func (p *printer) paint(code, text string) string {
	if !p.style.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) summary() {
	r, t := p.r, &p.r.Totals
	fmt.Fprintf(p, "%s\n", p.paint("1", printable.Text(r.Name, 200)))
	fmt.Fprintln(p, r.Window())
	p.crashes()
	if r.Complete {
		fmt.Fprintln(p, p.paint("32", "complete: the log shows no loss"))
	} else {
		fmt.Fprintln(p, p.paint("31", "NOT COMPLETE"))
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(p, "  %s: %s\n", problem.Kind, printable.Text(problem.Text, 400))
	}
	if t.Stops == 0 {
		fmt.Fprintln(p, "the log shows no stop of the application")
	} else {
		of := ""
		if t.Throughput != nil && t.Outside > 0 {
			of = fmt.Sprintf(", of %d of these stops", t.Stops-t.Outside)
		}
		fmt.Fprintf(p, "%s, %s in all; throughput %s%s\n", Plural(t.Stops, "stop"), Duration(t.Paused), optional(t.Throughput, percent), of)
	}
	humongous := ""
	if t.Humongous > 0 {
		humongous = fmt.Sprintf(", %d with humongous objects", t.Humongous)
	}
	waits := Plural(t.Waits, "allocation stall")
	if t.Failed > 0 {
		waits += ", " + Plural(t.Failed, "failed allocation")
	}
	fmt.Fprintf(p, "%s: %d full, %d degenerated%s, %s; %s; %s\n", Plural(t.Collections, "collection"), t.Full, t.Degenerated, humongous,
		Plural(t.Exhausted, "evacuation failure"), waits, Plural(t.Suspected, "suspected stall"))
	if heap := r.HeapAfter(); heap != none {
		fmt.Fprintln(p, "heap after GC "+heap)
	}
}

func (p *printer) causes() {
	p.heading("Stops by cause")
	rows := [][]string{{"CAUSE", "N", "P50", "P99", "MAX", "SUM"}}
	for _, c := range p.r.Causes {
		rows = append(rows, []string{c.Title(), fmt.Sprint(c.Count), optional(c.Percentiles.P50, Duration),
			optional(c.Percentiles.P99, Duration), Duration(c.Max), Duration(c.Sum)})
	}
	p.table(rows)
}

// Title returns the name of a cause, with its kind if that adds information.
func (s Spread) Title() string {
	name := printable.Text(s.Name, 60)
	if s.Kind == "safepoint" {
		return "safepoint · " + name
	}
	return name
}

func (p *printer) percentiles() {
	p.heading("Percentiles")
	rows := [][]string{{"", "N", "P50", "P90", "P99", "P99.9", "P99.99", "P99.999", "MAX"}}
	for _, s := range p.r.Spreads {
		row := []string{s.Name, fmt.Sprint(s.Count)}
		for _, v := range s.Percentiles.List() {
			row = append(row, optional(v, Duration))
		}
		rows = append(rows, append(row, Duration(s.Max)))
	}
	p.table(rows)
}

// List returns the percentiles from the smallest to the largest.
func (p Percentiles) List() []*float64 {
	return []*float64{p.P50, p.P90, p.P99, p.P999, p.P9999, p.P99999}
}

func (p *printer) histogram() {
	const width = 50
	most := uint64(1)
	for _, b := range p.r.Bars {
		most = max(most, b.Count)
	}
	p.heading("Stops by length")
	rows := [][]string{{"UP TO", "N", ""}}
	for _, b := range p.r.Bars {
		n := int(b.Count * width / most)
		if b.Count > 0 {
			n = max(n, 1)
		}
		rows = append(rows, []string{Duration(b.To), fmt.Sprint(b.Count), strings.Repeat("█", n)})
	}
	p.table(rows)
}

func (p *printer) longest() {
	p.heading("The longest stops")
	for i, s := range p.r.Longest {
		at := none
		if s.At != nil {
			at = p.r.When(*s.At)
		}
		fmt.Fprintf(p, "%2d. %s  at %s  %s\n", i+1, p.paint("1", Duration(s.Duration)), at, printable.Text(s.Cause, 100))
		fmt.Fprintf(p, "    time to safepoint %s, user %s, sys %s, real %s", optional(s.Reaching, Duration),
			optional(s.User, Duration), optional(s.Sys, Duration), optional(s.Real, Duration))
		if s.Suspicion != "none" {
			fmt.Fprintf(p, ", %s", p.paint("33", "suspected: "+s.Suspicion))
		}
		p.WriteByte('\n')
		for _, line := range s.Lines {
			fmt.Fprintf(p, "    %s\n", printable.Text(line, KeptBytes))
		}
	}
}

func (p *printer) runs() {
	p.heading("Runs of JVMs")
	rows := [][]string{{"STREAM", "RUN", "COLLECTOR", "VERSION", "SPAN", "STOPS", "THROUGHPUT", "WORST MINUTE", "ALLOCATED", "PROMOTED", "HEAP AFTER GC", "TREND", "METASPACE"}}
	for _, r := range p.r.Runs {
		worst := none
		if r.Worst != nil {
			worst = Duration(r.Worst.Paused)
		}
		rows = append(rows, []string{printable.Text(r.Stream, 40), fmt.Sprint(r.Number), orNone(printable.Text(r.Collector, 30)), orNone(printable.Text(r.Version, 30)),
			span(r.Span), fmt.Sprint(r.Stops), optional(r.Throughput, percent), worst,
			optional(r.Allocated, perSecond), optional(r.Promoted, perSecond), optional(r.HeapAfter, Size), optional(r.Trend, perHour), optional(r.Metaspace, Size)})
	}
	p.table(rows)
	p.flags()
}

func span(s float64) string {
	if s == 0 {
		return none
	}
	return Duration(s)
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

func (p *printer) volume() {
	p.heading("Log by level and tags")
	rows := [][]string{{"", "LINES", "BYTES"}}
	for _, share := range append(append([]Share{}, p.r.Volume.Levels...), p.r.Volume.Tags...) {
		rows = append(rows, []string{printable.Text(share.Name, 60), fmt.Sprint(share.Lines), Size(float64(share.Bytes))})
	}
	p.table(rows)
}

func (p *printer) advice() {
	if len(p.r.Advice) == 0 {
		return
	}
	p.heading("Advice")
	for _, a := range p.r.Advice {
		fmt.Fprintf(p, "- %s\n  %s\n", a.Text, printable.Text(a.Evidence, 600))
	}
}

// table writes rows in columns. The first column is aligned to the left, and so is the last if
// it has no title; the others are aligned to the right.
func (p *printer) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0 || rows[0][i] == "":
				line += cell + pad + "  "
			default:
				line += pad + cell + "  "
			}
		}
		p.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
