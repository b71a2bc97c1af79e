package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// readerName is the row for the reader's work on a line.
const readerName = "tail, classify and queue"

// readerAlone runs the Go benchmark of the reader.
func readerAlone(e *evidence) (*experiment, error) {
	x := &experiment{Name: "reader", Title: "The reader", Columns: []column{{"ns", "ns a line of 120 bytes"}, {"allocs", "allocations"}}}
	return x, e.inTurn(x, []entry{{readerName, func() (figures, error) {
		all, err := goBench(e, "./internal/ship", "^BenchmarkReader$", "10000000x")
		if err != nil {
			return nil, err
		}
		return all[0].figures, nil
	}}})
}

// benchmarked is one benchmark that go test has run.
type benchmarked struct {
	name    string // without "Benchmark", and without the number of processors
	figures figures
}

// units has the keys of figures for the units that benchmarks print.
var units = map[string]string{"ns/op": "ns", "B/op": "bytes", "allocs/op": "allocs", "cpu-ms/op": "cpu", "MiB-stored": "stored"}

// goBench runs Go benchmarks of a package, with further flags for go test. It returns at least one
// benchmark.
func goBench(e *evidence, pkg, expression, time string, flags ...string) ([]benchmarked, error) {
	args := append([]string{"test", "-run", "^$", "-bench", expression, "-benchmem", "-benchtime", time}, flags...)
	out, err := exec.CommandContext(e.ctx, "go", append(args, pkg)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("run the benchmark %s: %w\n%s", expression, err, out)
	}
	all := parseBench(string(out))
	if len(all) == 0 {
		return nil, fmt.Errorf("no figure of %s in:\n%s", expression, out)
	}
	return all, nil
}

// parseBench parses the lines of benchmarks in the output of go test: a name, a count, and pairs of
// value and unit.
func parseBench(out string) (all []benchmarked) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		b := benchmarked{name: strings.TrimPrefix(fields[0], "Benchmark"), figures: figures{}}
		if i := strings.LastIndexByte(b.name, '-'); i > 0 {
			b.name = b.name[:i]
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil && units[fields[i+1]] != "" {
				b.figures[units[fields[i+1]]] = v
			}
		}
		if b.figures["ns"] > 0 {
			all = append(all, b)
		}
	}
	return all
}
