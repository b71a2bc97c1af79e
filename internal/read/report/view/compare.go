package view

import "fmt"

// Compare returns a table of the main figures of two reports: a header, then for each figure a
// row with its name, its value in a and in b, and the change. Below the figures are the flags
// that differ between the JVMs.
func Compare(a, b *Report) [][]string {
	rows := [][]string{{"FIGURE", "A", "B", "CHANGE"}}
	add := func(name string, x, y *float64, format func(float64) string) {
		if x == nil && y == nil {
			return
		}
		rows = append(rows, []string{name, optional(x, format), optional(y, format), change(x, y)})
	}
	count := func(name string, x, y uint64) {
		fx, fy := float64(x), float64(y)
		add(name, &fx, &fy, func(v float64) string { return fmt.Sprintf("%.0f", v) })
	}
	s, t := &a.Totals, &b.Totals
	add("time in the log", known(s.Span), known(t.Span), Duration)
	add("throughput", s.Throughput, t.Throughput, percent)
	count("stops", s.Stops, t.Stops)
	add("time stopped", &s.Paused, &t.Paused, Duration)
	p, q := a.spread("stops"), b.spread("stops")
	x, y := p.Percentiles.List(), q.Percentiles.List()
	for i, name := range percentileNames {
		add("stop, "+name, x[i], y[i], Duration)
	}
	add("longest stop", known(p.Max), known(q.Max), Duration)
	p, q = a.spread("time to safepoint"), b.spread("time to safepoint")
	add("longest time to safepoint", known(p.Max), known(q.Max), Duration)
	count("collections", s.Collections, t.Collections)
	count("full collections", s.Full, t.Full)
	count("degenerated collections", s.Degenerated, t.Degenerated)
	count("evacuation failures", s.Exhausted, t.Exhausted)
	count("allocation stalls", s.Waits, t.Waits)
	count("failed allocations", s.Failed, t.Failed)
	count("suspected stalls", s.Suspected, t.Suspected)
	if s.Crashes+t.Crashes > 0 {
		count("crashes", s.Crashes, t.Crashes)
	}
	return append(rows, compareFlags(a, b)...)
}

var percentileNames = [...]string{"p50", "p90", "p99", "p99.9", "p99.99", "p99.999"}

// spread returns the distribution with the given name, or an empty one.
func (r *Report) spread(name string) Spread {
	for _, s := range r.Spreads {
		if s.Name == name {
			return s
		}
	}
	return Spread{}
}

func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// change formats how much b differs from a.
func change(a, b *float64) string {
	switch {
	case a == nil || b == nil || *a == 0:
		return none
	case *a == *b:
		return "="
	}
	return fmt.Sprintf("%+.1f %%", 100*(*b-*a)/(*a))
}
