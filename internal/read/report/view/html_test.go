package view

import (
	"bytes"
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
			t.Errorf("the page has %q", bad)
		}
	}
}
