package report

import (
	"fmt"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/pause"
	"github.com/ullage/ullage/internal/printable"
)

const (
	maxPhases  = 50 // of pauses, and as many beside the application
	textPhases = 12 // in text
	inPause    = "pause"
	beside     = "concurrent"
)

// phases are parts of pauses, and what the collector did beside the application, by name. The
// zero value has none.
type phases struct{ paused, concurrent map[string]*histogram }

// add counts a Phase or a Concurrent.
func (p *phases) add(e *pause.Event) {
	of := &p.paused
	if e.Kind == pause.Concurrent {
		of = &p.concurrent
	}
	if *of == nil {
		*of = map[string]*histogram{}
	}
	counts := (*of)[string(e.Name)]
	if counts == nil {
		name := string(e.Name)
		if len(*of) >= maxPhases {
			name = pause.Other
		}
		if counts = (*of)[name]; counts == nil {
			counts = &histogram{}
			(*of)[name] = counts
		}
	}
	counts.add(e.Duration)
}

// spreads returns all of them, those with the largest sum first.
func (p *phases) spreads() (all []Spread) {
	for kind, of := range map[string]map[string]*histogram{inPause: p.paused, beside: p.concurrent} {
		for name, counts := range of {
			all = append(all, spreadOf(name, kind, counts))
		}
	}
	bySum(all)
	return all
}

func (r *Report) phases() g.Node {
	rows := g.Map(r.Phases, func(s Spread) g.Node {
		return row(s.Name, h.Td(h.Class("text"), g.Text(s.Kind)), count(s.Count), td(optional(s.Percentiles.P50, Duration)), td(optional(s.Percentiles.P99, Duration)), td(Duration(s.Max)), td(Duration(s.Sum)))
	})
	return block("Phases", table("figures phases", "Phases of pauses, and beside the application", []string{"phase", "in", "n", "p50", "p99", "max", "sum"}, rows...))
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
		fmt.Fprintf(p, "and %s with smaller sums\n", plural(uint64(more), "phase"))
	}
}
