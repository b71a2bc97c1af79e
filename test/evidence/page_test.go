package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// TestPageFromRecord saves a record, loads it, and finds its medians on the
// page and well-formed XML in the plot.
func TestPageFromRecord(t *testing.T) {
	x := &experiment{Name: "x", Title: "Title", Plot: "cpu", Columns: []column{{"cpu", "CPU, s < 1"}, {"side", "side"}}}
	for _, v := range []float64{3, 1.25, 2} {
		x.add("a & b", figures{"cpu": v})
	}
	x.add("c", figures{"side": 1234.4})
	y := &experiment{Name: "y", Title: "Loss", Plot: "lost", Columns: lossColumns, Result: "Slope."}
	y.add("careful", losses(lab.Balance{Written: 10, Persisted: 10}))
	y.add("careless", losses(lab.Balance{Written: 10, Persisted: 11, Lost: 2, Twice: 1})) // 8, one twice, two torn
	dir := t.TempDir()
	path := filepath.Join(dir, "benchmarks.json")
	if err := (&record{Command: "make x", Experiments: []*experiment{x, y}, Contestants: []configured{{"peer", "1.2", "setting: 1\n"}}}).save(path); err != nil {
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
	for _, want := range []string{"| a & b | 2 (1.25–3) | – |\n", "| c | – | 1234 |\n", "**Method.**  One round.", "Slope. lost: from 0 (careful) to 2 (careless). No line lost or repeated in any round: careful. Lost or repeated: careless.",
		"| careless | 10 | 2 | 20 | 1 | 2 |\n", "peer 1.2:\n\n```\nsetting: 1\n```\n", "(benchmarks-x.svg)"} {
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
