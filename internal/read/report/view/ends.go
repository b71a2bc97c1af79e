package view

import (
	"cmp"
	"fmt"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
)

// endTitle says how many JVMs did not end in order.
func (r *Report) endTitle() string {
	if r.Totals.Ends == 1 {
		return "A JVM was killed or ended with a full heap."
	}
	return Plural(r.Totals.Ends, "JVM") + " were killed or ended with a full heap."
}

// text says when a JVM ended, and what ended it.
func (e End) text() string {
	return fmt.Sprintf("%s: pid %s, %s: %s", time.UnixMilli(int64(e.At*1e3)).UTC().Format("2006-01-02 15:04:05Z"),
		printable.Text(e.PID, 20), printable.Text(e.Stream, 100), printable.Text(cmp.Or(e.Why, e.Cause, e.How), KeptBytes))
}

// earlierEnds says how many ends the list lacks, if it lacks any.
func (r *Report) earlierEnds() string {
	if more := r.Totals.Ends - uint64(len(r.Ends)); more > 0 && more < r.Totals.Ends {
		return "and " + Plural(more, "earlier one")
	}
	return ""
}

// ends writes what ended JVMs, which is the news.
func (p *printer) ends() {
	if len(p.r.Ends) == 0 {
		return
	}
	fmt.Fprintln(p, p.paint("31", p.r.endTitle()))
	for _, e := range p.r.Ends {
		fmt.Fprintf(p, "  %s\n", e.text())
	}
	if earlier := p.r.earlierEnds(); earlier != "" {
		fmt.Fprintf(p, "  %s\n", earlier)
	}
}

// ended lists what ended JVMs.
func (r *Report) ended() g.Node {
	earlier := r.earlierEnds()
	return h.Div(h.Class("status bad"), h.Strong(g.Text(r.endTitle())),
		h.Ul(g.Map(r.Ends, func(e End) g.Node { return h.Li(g.Text(e.text())) }), g.If(earlier != "", h.Li(g.Text(earlier)))))
}
