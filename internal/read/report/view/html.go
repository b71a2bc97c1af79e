package view

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// chart is the data that the script draws.
type chart struct {
	Dated  bool     `json:"dated"`
	Begin  float64  `json:"begin"`
	End    float64  `json:"end"`
	Series []Series `json:"series"`
	Bands  []Band   `json:"bands"`
	Heap   Heap     `json:"heap"`
	Bars   []Bar    `json:"bars"`
}

// HTML writes one page about one report, or about two reports side by side. The page does
// not load anything.
//
// The page is built in Go, without html/template, which finds methods by name at run time.
// With it, the linker would keep every method of the whole program, which adds 5 MB.
func HTML(w io.Writer, all ...*Report) error {
	title, wide := all[0].Name, ""
	var compared, reports g.Group
	if len(all) == 2 {
		title += " and " + all[1].Name
		wide = " two"
		compared = append(compared, comparison(Compare(all[0], all[1])[1:]))
	}
	for i, r := range all {
		data, err := json.Marshal(chart{r.Dated, r.Begin, r.End, r.Series, r.Bands, r.Heap, r.Bars}) // Marshal escapes < and >
		if err != nil {
			return fmt.Errorf("encode the charts: %w", err)
		}
		label := ""
		if len(all) > 1 {
			label = string(rune('A' + i))
		}
		reports = append(reports, r.article(label, data))
	}
	return page(w, title, compared, h.Div(h.Class("reports"+wide), reports))
}

// page writes a page with the given title and content.
func page(w io.Writer, title string, content ...g.Node) error {
	return write(w, "JVM pauses", "Where the JVM’s time went", title, pageScript, content)
}

// Page writes a page that looks like a report, has the given content, and loads and runs nothing.
func Page(w io.Writer, heading, title string, content ...g.Node) error {
	return write(w, heading, heading, title, "", content)
}

// write writes a page whose only script is the given one.
func write(w io.Writer, topic, heading, title, script string, content []g.Node) error {
	all := h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy(script))),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("referrer"), h.Content("no-referrer")),
			h.TitleEl(g.Text(topic+": "+title)),
			h.StyleEl(g.Raw(pageStyle)),
		),
		h.Body(
			h.Header(h.H1(g.Text(heading)), h.P(h.Class("about"), g.Text(title))),
			h.Main(content...),
			g.If(script != "", h.Script(g.Raw(script))),
		),
	))
	if err := all.Render(w); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// policy permits the style of the page and its script, identified by their hashes, and
// nothing else.
func policy(script string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	text := "default-src 'none'; style-src " + hash(pageStyle)
	if script != "" {
		text += "; script-src " + hash(script)
	}
	return text + "; base-uri 'none'; form-action 'none'"
}

// article returns the part of the page for one report.
func (r *Report) article(label string, data []byte) g.Node {
	about := r.Window()
	if names := r.Collectors(); names != "" {
		about += " · " + names
	}
	return h.Article(h.Class("report"), h.Aria("label", "report "+label),
		g.If(label != "", h.H2(h.Class("label"), g.Text(label+": "+r.Name))),
		h.P(h.Class("span"), g.Text(about)),
		g.If(len(r.Crashes) > 0, r.crashed()),
		r.completeness(),
		r.tiles(),
		g.If(len(r.Advice) > 0, block("Advice", h.Ul(h.Class("advice"), g.Map(r.Advice, func(a Advice) g.Node {
			return h.Li(g.Text(a.Text+" "), h.Span(h.Class("evidence"), g.Text(a.Evidence)))
		})))),
		g.If(len(r.Bars) == 0, h.P(h.Class("status"), g.Text("The log shows no stop of the application."))),
		g.If(r.Timed && len(r.Bars) > 0, r.timeline()),
		g.If(len(r.Bars) > 0, g.Group{r.causes(), r.longest(), g.If(len(r.Suspected) > 0, r.suspected()), r.percentiles()}),
		g.If(len(r.Phases) > 0, r.phases()),
		g.If(len(r.Heap.After) > 0, block("Heap before and after collections",
			h.Div(h.Class("tools"), h.Span(h.Class("legend sizes"))),
			picture("heap", "The heap in use before and after collections, and its size, in bytes; the table of runs has its trend."))),
		r.runs(),
		h.Div(h.Class("columns"), volume("Log by level", "level", r.Volume.Levels),
			g.If(len(r.Volume.Tags) > 0, volume("Log by tags", "tags", r.Volume.Tags))),
		h.P(h.Class("hint"), g.Text("Read: "+inputs(r.Inputs)+".")),
		h.Script(h.Type("application/json"), h.Class("data"), g.Raw(string(data))),
	)
}

// block returns a part of a report with a heading.
func block(heading string, content ...g.Node) g.Node {
	return h.Section(h.H3(g.Text(heading)), g.Group(content))
}

// picture returns the placeholder of a chart, which the script draws.
func picture(kind, says string) g.Node {
	return h.Div(h.Class("chart "+kind), h.Role("img"), h.Aria("label", says))
}
