package view

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestThePolicyPermitsWhatThePageHas(t *testing.T) {
	r := &Report{Name: "gc.log", Axis: Axis{Timed: true}, Bars: []Bar{{}}, Tables: Tables{Causes: []Spread{{Name: "young"}}}, Longest: []Stop{{Cause: "young", Lines: []string{"a line"}}}, Advice: []Advice{{Text: "do", Evidence: "that"}}}
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<style>" + pageStyle + "</style>", "<script>" + pageScript + "</script>"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the template has changed %.40q, so its hash does not match", part)
		}
	}
	for _, bad := range []string{" style=", " onclick", "http://", "https://", "url("} {
		if text := strings.ReplaceAll(page.String(), "http://www.w3.org/2000/svg", ""); strings.Contains(text, bad) {
			t.Errorf("the page has %q, which its policy does not permit", bad)
		}
	}
}

func TestEachFigureIsExplained(t *testing.T) {
	r := &Report{Floor: 0.1, Totals: Totals{Crashes: 1, Humongous: 1, Waits: 1, Failed: 1}}
	var page strings.Builder
	if err := r.tiles().Render(&page); err != nil {
		t.Fatal(err)
	}
	if figures, explained := strings.Count(page.String(), "<dt>"), strings.Count(page.String(), `<div title="`); figures < 12 || explained != figures {
		t.Errorf("%d of %d figures are explained, want all of at least 12:\n%s", explained, figures, page.String())
	}
	if !strings.Contains(page.String(), "Stops of 100 ms or more") {
		t.Errorf("the explanation of suspected stalls lacks the threshold:\n%s", page.String())
	}
}

func TestEachColumnIsExplained(t *testing.T) {
	r := &Report{Axis: Axis{Timed: true}, Bars: []Bar{{}}, Suspected: []*Stop{{}}, Tables: Tables{Phases: []Spread{{}}}, Volume: Volume{Tags: []Share{{}}}}
	f := &Fleet{}
	f.Add(GroupA, r)
	f.Add(GroupB, r)
	f.CompareGroups()
	var pages strings.Builder
	if err := errors.Join(HTML(&pages, r, r), f.HTML(&pages)); err != nil {
		t.Fatal(err)
	}
	columns := regexp.MustCompile(`<th scope="col"[^>]*>.*?</th>`).FindAllString(pages.String(), -1)
	for _, column := range columns {
		if !regexp.MustCompile(` title="[^"]`).MatchString(column) {
			t.Errorf("the column %s has no explanation: meanings lacks its name", column)
		}
	}
	if len(columns) < 60 {
		t.Errorf("the pages have %d columns, want 60 or more", len(columns))
	}
}
