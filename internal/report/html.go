package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"reflect"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is what the template shows.
type page struct {
	Title   string
	Policy  string
	Style   template.CSS
	Script  template.JS
	Reports []section
	Compare [][]string
}

// section is one report of the page.
type section struct {
	*Report
	Label string // "", "A" or "B"
	Chart chart
}

// chart is what the script draws.
type chart struct {
	Dated  bool     `json:"dated"`
	Begin  float64  `json:"begin"`
	End    float64  `json:"end"`
	Series []Series `json:"series"`
	Bands  []Band   `json:"bands"`
	Heap   Heap     `json:"heap"`
	Bars   []Bar    `json:"bars"`
}

// HTML writes one page about one report, or two side by side. The page needs nothing but
// itself.
func HTML(w io.Writer, all ...*Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"duration": Duration, "size": Size, "percent": percent, "rate": perSecond, "hourly": perHour,
		"optional": optionalOf, "share": share, "names": func() []string { return percentileNames[:] }, "plural": pluralOf,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	p := page{Title: all[0].Name, Style: template.CSS(pageStyle), Script: template.JS(pageScript), Policy: policy()}
	for i, r := range all {
		s := section{Report: r, Chart: chart{r.Dated, r.Begin, r.End, r.Series, r.Bands, r.Heap, r.Bars}}
		if len(all) > 1 {
			s.Label = string(rune('A' + i))
		}
		p.Reports = append(p.Reports, s)
	}
	if len(all) == 2 {
		p.Compare = Compare(all[0], all[1])[1:]
		p.Title += " and " + all[1].Name
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// policy permits the style and the script of the page, by their hashes, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript) + "; base-uri 'none'; form-action 'none'"
}

// pluralOf is plural for the integers of a template.
func pluralOf(n any, what string) string {
	v := reflect.ValueOf(n)
	if v.CanInt() {
		return plural(uint64(v.Int()), what)
	}
	return plural(v.Uint(), what)
}

// optionalOf formats a figure that may be missing: as a duration, size, percent, rate or
// hourly.
func optionalOf(v *float64, as string) string {
	formats := map[string]func(float64) string{"duration": Duration, "size": Size, "percent": percent, "rate": perSecond, "hourly": perHour}
	return optional(v, formats[as])
}

// share returns the length of a bar of at most 100 for a part of the largest.
func share(part Share, all []Share) int {
	most := 1.0
	for _, s := range all {
		most = math.Max(most, float64(s.Bytes))
	}
	return int(math.Ceil(100 * float64(part.Bytes) / most))
}
