package view

import (
	"fmt"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
)

const textPhases = 12 // number of phases in the text form

func (r *Report) phases() g.Node {
	rows := g.Map(r.Phases, func(s Spread) g.Node {
		return row(s.Name, h.Td(h.Class("text"), g.Text(s.Kind)), count(s.Count), td(optional(s.Percentiles.P50, Duration)), td(optional(s.Percentiles.P99, Duration)), td(Duration(s.Max)), td(Duration(s.Sum)))
	})
	return block("Phases", table("figures phases", "Phases of pauses, and concurrent ones", []string{"phase", "in", "n", "p50", "p99", "max", "sum"}, rows...))
}

func (p *printer) phases() {
	if len(p.r.Phases) == 0 {
		return
	}
	p.heading("Phases")
	rows := [][]string{{"PHASE", "IN", "N", "P50", "P99", "MAX", "SUM"}}
	for _, s := range p.r.Phases[:min(len(p.r.Phases), textPhases)] {
		rows = append(rows, []string{printable.Text(s.Name, 60), s.Kind, fmt.Sprint(s.Count), optional(s.Percentiles.P50, Duration), optional(s.Percentiles.P99, Duration), Duration(s.Max), Duration(s.Sum)})
	}
	p.table(rows)
	if more := len(p.r.Phases) - textPhases; more > 0 {
		fmt.Fprintf(p, "and %s with smaller sums\n", Plural(uint64(more), "phase"))
	}
}
