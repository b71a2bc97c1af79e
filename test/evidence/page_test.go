package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageFromRecord saves a record, loads it, and finds its medians on the
// page and well-formed XML in the plot.
func TestPageFromRecord(t *testing.T) {
	x := &experiment{Name: "x", Title: "Title", Plot: "cpu", Columns: []column{{"cpu", "CPU, s < 1"}, {"side", "side"}}}
	for _, v := range []float64{3, 1.25, 2} {
		x.add("a & b", figures{"cpu": v})
	}
	x.add("c", figures{"side": 1234.4})
	dir := t.TempDir()
	path := filepath.Join(dir, "benchmarks.json")
	if err := (&record{Command: "make x", Rounds: 3, Experiments: []*experiment{x}}).save(path); err != nil {
		t.Fatal(err)
	}
	r, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.write(filepath.Join(dir, "benchmarks.md")); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| a & b | 2 (1.25–3) | – |\n", "| c | – | 1234 |\n", "median of 3 rounds", "(benchmarks-x.svg)"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	plot, err := os.Open(filepath.Join(dir, "benchmarks-x.svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer plot.Close()
	for d := xml.NewDecoder(plot); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal("the plot is not well-formed:", err)
		}
	}
}
