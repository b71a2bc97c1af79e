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

// TestPageFromRecord saves and loads a record, and checks that its medians are on the page and that
// the plot is well-formed XML.
func TestPageFromRecord(t *testing.T) {
	x := &experiment{Name: "x", Title: "Title", Plot: "cpu", Columns: []column{{"cpu", "CPU, s < 1"}, {"side", "side"}}}
	for _, v := range []float64{3, 1.25, 2} {
		x.add("a & b", figures{"cpu": v})
	}
	x.add("c", figures{"side": 1234.4})
	y := &experiment{Name: "y", Title: "Loss", Plot: "lost", Columns: lossColumns}
	y.add("careful", losses(lab.Balance{Written: 10, Persisted: 10}))
	y.add("careless", losses(lab.Balance{Written: 10, Persisted: 11, Lost: 2, Twice: 1})) // 8 lines, one of them twice, and 2 torn
	dir := t.TempDir()
	path := filepath.Join(dir, "benchmarks.json")
	if err := (&record{sitting: sitting{Command: "make x"}, Experiments: []*experiment{x, y}, Contestants: []configured{{"peer", "1.2", "setting: 1\n"}}}).save(path); err != nil {
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
	for _, want := range []string{"| a & b | 2 (1.25–3) | – |\n", "| c | – | 1,234 |\n", "**Method.**  One round.", "Lost: from 0 (careful) to 2 (careless). These lost and repeated no line: careful. The others did, at most in a round: careless lost 2 and repeated 1.",
		"| careless | 10 | 2 | 20 | 1 | 2 |\n", "peer 1.2:\n\n```\nsetting: 1\n```\n", "(x.svg)"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	plot, err := os.Open(filepath.Join(dir, "x.svg"))
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

// TestFleet compares the results of the formulas with results that were calculated by hand.
func TestFleet(t *testing.T) {
	r := &record{}
	for _, x := range []struct {
		name, contestant string
		f                figures
	}{
		{"node", wholeNode, figures{"cpu": 22, "pss": 1760}}, // 0.2 % and 16 MiB each
		{"lines", "1,000 lines/s", figures{"cpu": 0.3}},
		{"steady", "ullage, zstd", figures{"cpu": 2.2}},
		{"catchup", "ullage, zstd", figures{"disk": 102.4}},
		{"injector", "Review", figures{"ns": 400_000}},
	} {
		e := &experiment{Name: x.name}
		e.add(x.contestant, x.f)
		r.Experiments = append(r.Experiments, e)
	}
	if _, ok := r.fleet(); ok {
		t.Error("the fleet was computed although a figure is missing")
	}
	r.Experiments[len(r.Experiments)-1].add("Mutate", figures{"ns": 600_000})
	f, ok := r.fleet()
	if !ok {
		t.Fatal("no fleet was computed, although all figures are there")
	}
	var s strings.Builder
	f.write(&s)
	for _, want := range []string{
		// 110 × 0.3 %; 110 × 1,000 × 130 B ÷ 10; × 86,400 s; × 100,000
		"| `gc*=debug` | 1,000 | 0.33 | 1.43 | 1,123 | 112 |\n",
		"sidecars' memory is 1.72 GiB of the node; the tmpfs can hold 6.88 GiB more",
		"5m of CPU and 16Mi of memory each: 0.55 cores and 1.72 GiB of the node, 500 cores and 1,563 GiB of the fleet",
		"| 5s | 22 | 44 | of the last 5 s |\n",
		"= 27.8      cores of the injector = reviews × CPU of a review = 0.0278\n",
		"A sidecar takes 0.2 % of a core at 10 lines/s of 130 bytes each, 0.3 % at 1,000, and 2.2 % at 20,000",
	} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, &s)
		}
	}
}

// TestGoals checks reached goals, missed goals with their explanation, and that a goal without a figure is
// omitted.
func TestGoals(t *testing.T) {
	r := &record{Contestants: []configured{{Name: "ullage, none"}, {Name: "slow"}, {Name: "fast"}}}
	x := &experiment{Name: "catchup"}
	x.add("cat", figures{"cpu": 0.5})
	x.add("ullage, none", figures{"cpu": 1.1})
	x.add("slow", figures{"cpu": 20})
	x.add("fast", figures{"cpu": 4})
	r.Experiments = append(r.Experiments, x)
	var s strings.Builder
	r.writeGoals(&s)
	const want = "| catch-up without compression: CPU, s/GiB | 1.1 | at most 1.2 | reached |\n" +
		"| the same, as a multiple of `cat` | 2.2 | at most 2 | **missed** |\n" +
		"| the same, as a multiple of the best peer | 0.275 | at most 0.25 | **missed** |\n"
	if !strings.Contains(s.String(), "|---|---|---|---|\n"+want+"\n**Where catching up spends its time.**") {
		t.Errorf("got\n%s\nwant these rows directly below the head of the table:\n%s", s.String(), want)
	}
	s.Reset()
	if (&record{}).writeGoals(&s); s.Len() > 0 {
		t.Error("got goals, want none for a record without figures:", s.String())
	}
}

// TestGoalsOfReportsHindsightAndPauses checks that a speed has a lower limit, and that ratios are computed within
// one experiment.
func TestGoalsOfReportsHindsightAndPauses(t *testing.T) {
	report, held, copies := &experiment{Name: "report"}, &experiment{Name: "hindsight"}, &experiment{Name: "tried"}
	report.add(reportLogs[0].name, figures{"speed": 299, "peak": 20})
	report.add(reportLogs[1].name, figures{"speed": 301, "peak": 65})
	held.add(hindsightOff, figures{"cpu": 100})
	held.add(hindsightHeld, figures{"cpu": 110})
	held.add(hindsightSaved, figures{"cpu": 120})
	copies.add(pausePairs[0].off, figures{"cpu": 1})
	copies.add(pausePairs[0].on, figures{"cpu": 1.2})
	var s strings.Builder
	(&record{Experiments: []*experiment{report, held, copies}}).writeGoals(&s)
	const want = "| `ullage report`, each line about a pause: MB a CPU second | 299 | at least 300 | **missed** |\n" +
		"| the same: peak memory, MiB | 20 | at most 64 | reached |\n" +
		"| `ullage report`, `gc*=debug`: MB a CPU second | 301 | at least 300 | reached |\n" +
		"| the same: peak memory, MiB | 65 | at most 64 | **missed** |\n" +
		"| hindsight, lines below `info` held, none saved: CPU, as a multiple of that with all lines persisted | 1.1 | at most 1.15 | reached |\n" +
		"| hindsight, lines below `info` held, all saved: CPU, as a multiple of that with all lines persisted | 1.2 | at most 1.15 | **missed** |\n" +
		"| reading pauses in `ullage run`, without compression (the strictest case): CPU, as a multiple of that without | 1.2 | at most 1.25 | reached |\n"
	if !strings.Contains(s.String(), "|---|---|---|---|\n"+want+"\n**Why a report takes long.**") || !strings.Contains(s.String(), "\n**Why holding and saving cost more than persisting.**") {
		t.Errorf("got\n%s\nwant both explanations, and these rows directly below the head of the table:\n%s", s.String(), want)
	}
}

// TestBenchmarkLine checks the parser of go test's output.
func TestBenchmarkLine(t *testing.T) {
	all := parseBench("goos: linux\nBenchmarkMutate-2   \t    100\t  123.5 ns/op\t 48 B/op\t  2 allocs/op\nBenchmarkHindsight/held-2 3 5 ns/op 0.35 MiB-stored\n--- BENCH: BenchmarkMutate-2\nPASS\n")
	if len(all) != 2 || all[0].name != "Mutate" || all[0].figures["ns"] != 123.5 || all[0].figures["bytes"] != 48 || all[0].figures["allocs"] != 2 ||
		all[1].name != "Hindsight/held" || all[1].figures["stored"] != .35 {
		t.Errorf("got %+v; want Mutate with 123.5 ns, 48 bytes and 2 allocs, and Hindsight/held with .35 stored", all)
	}
	if all := parseBench("PASS\n"); len(all) > 0 {
		t.Error("got figures, want none without a benchmark:", all)
	}
}

// This fails if a plot was edited by hand, or if the drawing of plots changed and the plots were not drawn again.
func TestPicturesAreThoseOfTheRecord(t *testing.T) {
	const committed = "../../docs/benchmarks"
	r, err := load(filepath.Join(committed, "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.write(filepath.Join(dir, "measured.md")); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range made {
		want, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(committed, entry.Name())); err != nil || string(got) != string(want) {
			t.Errorf("docs/benchmarks/%s differs from the plot of the record (%v): run make plots", entry.Name(), err)
		}
		if len(want) > 200<<10 {
			t.Errorf("docs/benchmarks/%s has %d bytes, want at most 200 KiB", entry.Name(), len(want))
		}
	}
	kept, err := os.ReadDir(committed)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != len(made)+1 {
		t.Errorf("docs/benchmarks has %d files, want the record and the %d files that are made from it", len(kept), len(made))
	}
	if _, err := os.Stat(filepath.Join(dir, "freeze-dark.svg")); err != nil {
		t.Error("no picture of the freeze is made from the record:", err)
	}
}
