package incident

import (
	"fmt"
	"io"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/read/report/view"
)

// index writes the index page. All of its texts are untrusted.
func (a *Archive) index(w io.Writer) error {
	m := &a.manifest
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
	verdict := h.Div(h.Class("status good"), h.Strong(g.Text("Complete: every line of the window is in the durable copy and in this archive.")))
	if len(m.Lacks) > 0 {
		verdict = h.Div(h.Class("status bad"), h.Strong(g.Text("Not complete. What is missing:")), h.Ul(g.Map(m.Lacks, func(text string) g.Node { return h.Li(g.Text(text)) })))
	}
	var shown g.Group
	for _, part := range [][2]string{{CheckText, "Is it complete?"}, {MarksText, "What happened"}, {ReportText, "Where the time went"}} {
		if text := a.shown[part[0]]; len(text) > 0 {
			shown = append(shown, h.Section(h.H2(g.Text(part[1])), h.Pre(g.Text(strings.ToValidUTF8(string(text), "\uFFFD"))),
				g.If(len(text) == maxShown, h.P(h.Class("hint"), g.Text("The rest is in "+part[0]+".")))))
		}
	}
	return view.Page(w, "Incident", fmt.Sprintf("%s, %s to %s", m.Of, at(m.Since), at(m.Until)),
		verdict,
		h.Section(h.H2(g.Text("What is in this archive")),
			h.Div(h.Class("scroll"), h.Table(h.THead(h.Tr(h.Th(g.Text("file")), h.Th(g.Text("size")), h.Td(h.Class("text"), g.Text("what it is")))), h.TBody(g.Map(m.Parts, row)))),
			h.P(h.Class("hint"), g.Text("Unpack the archive before you open its files. Made by ullage "+m.Version+" at "+at(m.Made)+"."))),
		shown)
}

// row returns the row of a part.
func row(p Part) g.Node {
	name, about := g.Text(p.Name), p.About
	if p.Bytes > 0 {
		name = h.A(h.Href(strings.ReplaceAll(p.Name, "%", "%25")), name)
	}
	if p.Cut > 0 {
		about += "; " + printable.Bytes(p.Cut) + " are missing"
	}
	if p.Problem != "" {
		about += "; " + p.Problem
	}
	return h.Tr(h.Th(name), h.Td(g.Text(printable.Bytes(p.Bytes))), h.Td(h.Class("text"), g.Text(about)))
}
