package main

// injector runs the Go benchmarks of the injector.
func injector(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "injector", Title: "The injector", Plot: "ns",
		Question: "What does the injection of a pod cost?",
		Method: "Two Go benchmarks. Review decodes an admission review of 10 KiB and encodes the answer with a patch of 4 KiB, without TLS. " +
			"Mutate makes the patch, of each pod in the injector's tests in turn.",
		Threat:  "The figures exclude TLS and the kernel's part of a connection. The API server keeps its connections open.",
		Columns: []column{{"ns", "ns a pod"}, {"bytes", "bytes allocated"}, {"allocs", "allocations"}},
	}
	var all []entry
	for _, b := range []struct{ name, pkg string }{{"Review", "./internal/kube/webhook"}, {"Mutate", "./internal/kube/inject"}} {
		all = append(all, entry{b.name, func() (figures, error) {
			got, err := goBench(e, b.pkg, "^Benchmark"+b.name+"$", "1s")
			if err != nil {
				return nil, err
			}
			return got[0].figures, nil
		}})
	}
	return x, e.inTurn(x, all)
}
