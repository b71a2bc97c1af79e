package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// injector runs the Go benchmarks of the injector.
func (e *evidence) injector() (*experiment, error) {
	x := &experiment{
		Name: "injector", Title: "The injector", Plot: "ns",
		Question: "What does the injection of a pod cost?",
		Method: "Two Go benchmarks. Review decodes an admission review of 10 KiB, and encodes the answer with a patch of 4 KiB, without TLS. " +
			"Mutate makes the patch, of each pod in the injector's tests in turn.",
		Threat:  "TLS, and the kernel's part of a connection, are not in it. The API server keeps its connections open.",
		Columns: []column{{"ns", "ns a pod"}, {"bytes", "bytes allocated"}, {"allocs", "allocations"}},
	}
	for round := range e.rounds {
		fmt.Printf("  round %d of %d\n", round+1, e.rounds)
		for _, name := range []string{"Review", "Mutate"} {
			pkg := map[string]string{"Review": "./internal/webhook", "Mutate": "./internal/inject"}[name]
			out, err := exec.CommandContext(e.ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark"+name+"$", "-benchmem", "-benchtime", "1s", pkg).CombinedOutput()
			if err != nil {
				return nil, fmt.Errorf("run the benchmark %s: %w\n%s", name, err, out)
			}
			f, ok := benchmarked(string(out))
			if !ok {
				return nil, fmt.Errorf("no figure of %s in:\n%s", name, out)
			}
			x.add(name, f)
		}
	}
	return x, nil
}

// benchmarked reads the line of a benchmark that go test has printed: a name, a
// count, and pairs of value and unit.
func benchmarked(out string) (f figures, ok bool) {
	f = figures{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			key := map[string]string{"ns/op": "ns", "B/op": "bytes", "allocs/op": "allocs"}[fields[i+1]]
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil && key != "" {
				f[key] = v
			}
		}
	}
	return f, f["ns"] > 0
}
