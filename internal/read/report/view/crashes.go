package view

import (
	"fmt"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
)

// CrashCommand is the command that prints the crash reports in a destination. MarksCommand is
// the command that prints the marks.
const (
	CrashCommand = "ullage logs --stream 'hs_err*'"
	MarksCommand = "ullage logs --marks"
)

// crashTitle says how often JVMs crashed, were killed, or ended with a full heap.
func (r *Report) crashTitle() string {
	var all []string
	switch n := r.Totals.Ends; {
	case n == 1:
		all = append(all, "A JVM was killed or ended with a full heap.")
	case n > 1:
		all = append(all, Plural(n, "JVM")+" were killed or ended with a full heap.")
	}
	switch n := r.Totals.Crashes; {
	case n == 1:
		all = append(all, "A JVM crashed.")
	case n > 1:
		all = append(all, "JVMs crashed "+Plural(n, "time")+".")
	}
	return strings.Join(all, " ")
}

// text says when the JVM crashed, why, and where the report is.
func (c Crash) text() string {
	text := time.UnixMilli(int64(c.At*1e3)).UTC().Format("2006-01-02 15:04:05Z") + ": "
	if c.Reason != "" {
		text += printable.Text(c.Reason, KeptBytes) + ", in "
	}
	return text + printable.Text(c.File, 200)
}

// crashNotes returns the notes after the list of crashes: how many crashes are not in the list, and the
// command that prints the reports or the marks. A reader may run that command, so it is always a constant
// and never text from a decoded report.
func (r *Report) crashNotes() (earlier, command string) {
	all := r.Totals.Crashes + r.Totals.Ends
	if more := all - uint64(len(r.Crashes)); more > 0 && more < all {
		earlier = "and " + Plural(more, "earlier one")
	}
	for _, c := range r.Crashes {
		switch {
		case c.Marked && command == "":
			command = MarksCommand
		case !c.Marked && c.Command != "":
			command = CrashCommand
		}
	}
	return earlier, command
}

// crashes writes the crashes of JVMs, which come first in a report.
func (p *printer) crashes() {
	if len(p.r.Crashes) == 0 {
		return
	}
	fmt.Fprintln(p, p.paint("31", p.r.crashTitle()))
	for _, c := range p.r.Crashes {
		fmt.Fprintf(p, "  %s\n", c.text())
	}
	earlier, command := p.r.crashNotes()
	if earlier != "" {
		fmt.Fprintf(p, "  %s\n", earlier)
	}
	if command != "" {
		fmt.Fprintf(p, "  %s  prints the reports\n", command)
	}
}

// crashed lists the crashes of JVMs.
func (r *Report) crashed() g.Node {
	earlier, command := r.crashNotes()
	return h.Div(h.Class("status bad"), h.Strong(g.Text(r.crashTitle())),
		h.Ul(g.Map(r.Crashes, func(c Crash) g.Node { return h.Li(g.Text(c.text())) }), g.If(earlier != "", h.Li(g.Text(earlier)))),
		g.If(command != "", h.P(h.Class("hint"), h.Code(g.Text(command)), g.Text(" prints the reports."))))
}
