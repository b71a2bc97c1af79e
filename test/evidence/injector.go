package main

import "fmt"

// injector runs the Go benchmarks of the injector.
func injector(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "injector", Title: "The injector", Plot: "ns",
		Question: "What does the injection of a pod cost?",
		Method: "Two Go benchmarks. Review decodes an admission review of 10 KiB and encodes the answer with a patch of 4 KiB, without TLS. " +
			"Mutate makes the patch, of each pod in the injector's tests in turn.",
		Threat:  "TLS, and the kernel's part of a connection, are not in it. The API server keeps its connections open.",
		Columns: []column{{"ns", "ns a pod"}, {"bytes", "bytes allocated"}, {"allocs", "allocations"}},
	}
	for round := range e.rounds {
		fmt.Printf("  round %d of %d\n", round+1, e.rounds)
		for _, b := range []struct{ name, pkg string }{{"Review", "./internal/kube/webhook"}, {"Mutate", "./internal/kube/inject"}} {
			all, err := goBench(e, b.pkg, "^Benchmark"+b.name+"$", "1s")
			if err != nil {
				return nil, err
			}
			x.add(b.name, all[0].figures)
		}
	}
	return x, nil
}
