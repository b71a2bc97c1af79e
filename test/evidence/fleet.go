package main

import (
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// restart is the time in which all pods of a fleet restart, in seconds.
const restart = 3600.0

// fleet has the figures from which the needs of a large cluster are computed.
type fleet struct {
	pods, onNode  float64
	lineBytes     float64
	memoryMiB     float64    // of a sidecar, including its part of the memory that the sidecars of a node share
	cpu           [3]float64 // of a sidecar at each of the rates, % of a core
	bytesOnDisk   float64    // bytes on disk for each byte of a line
	decodeSeconds float64    // CPU time of the injector for the review of a pod
	mutateSeconds float64    // and for its patch
}

// review is the injector's CPU time for a pod, in seconds.
func (f fleet) review() float64 { return f.decodeSeconds + f.mutateSeconds }

// fleet collects the figures. ok is false if one of them was not measured.
func (r *record) fleet() (f fleet, ok bool) {
	f = fleet{pods: 100_000, onNode: mostSidecars, lineBytes: usualLine}
	for _, want := range []struct {
		experiment, contestant, key string
		into                        *float64
		unit                        float64
	}{
		{"node", wholeNode, "pss", &f.memoryMiB, 1. / mostSidecars},
		{"node", wholeNode, "cpu", &f.cpu[0], 1. / mostSidecars},
		{"lines", "1,000 lines/s", "cpu", &f.cpu[1], 1},
		{"steady", "ullage, zstd", "cpu", &f.cpu[2], 1},
		{"catchup", "ullage, zstd", "disk", &f.bytesOnDisk, 1. / 1024},
		{"injector", "Review", "ns", &f.decodeSeconds, 1e-9},
		{"injector", "Mutate", "ns", &f.mutateSeconds, 1e-9},
	} {
		v, found := r.median(want.experiment, want.contestant, want.key)
		if !found {
			return f, false
		}
		*want.into = v * want.unit
	}
	return f, true
}

func (r *record) median(experiment, contestant, key string) (v float64, ok bool) {
	v, _, _, ok = r.row(experiment, contestant).of(key)
	return v, ok
}

// rates are typical rates of a JVM's log, at which the CPU time of a sidecar was measured.
var rates = [...]struct {
	name  string
	lines float64
}{
	{"`gc*=info,safepoint=info`, a collection a second", nodeLines},
	{"`gc*=debug`", 1_000},
	{"`all=trace`", linesASec},
}

// write renders the formulas and their results.
func (f fleet) write(s *strings.Builder) {
	s.WriteString("\n## A fleet, on paper\n\n**Question.** What does a cluster of 100,000 pods need, and a node of 110?\n\n")
	fmt.Fprintf(s, "**Method.** The figures above, in formulas. A sidecar takes %s %% of a core at %s lines/s of %s bytes each, %s %% at %s, and %s %% at %s: each isolated line wakes it up, but a burst of lines wakes it up only once. "+
		"Its memory is %s MiB: that of 110 sidecars of one node, as [measured](#growth-sidecars-of-a-node) at %s lines/s each, divided by 110, so that each has its part of the pages of the program that all share. A byte of the log takes %s bytes of disk with zstd. The injector takes %s of CPU time for a pod.\n\n",
		figure(f.cpu[0]), figure(rates[0].lines), figure(f.lineBytes), figure(f.cpu[1]), figure(rates[1].lines), figure(f.cpu[2]), figure(rates[2].lines),
		figure(f.memoryMiB), figure(rates[0].lines), figure(f.bytesOnDisk), amount(f.review(), "s", 1e3, "ms", "µs", "ns"))
	f.result(s)
	f.node(s)
	f.syncs(s)
	f.webhook(s)
	s.WriteString("**Caveats.** Nothing here was run at this size, but [110 sidecars on one disk](#growth-sidecars-of-a-node) were. The cost of a commit depends on how many fsyncs a second the disk can do; the second table shows how many are needed. Memory is that at the least of the three rates. " +
		"PUT requests and objects a month of a copy in S3 are [on a page of their own](../sinks.md#requests-and-objects-on-paper).\n")
}

// result writes a summary of the tables.
func (f fleet) result(s *strings.Builder) {
	least, most := rates[0], rates[len(rates)-1]
	storage := func(lines float64) string {
		return figure(f.pods * lines * f.lineBytes * f.bytesOnDisk * 86_400 / 1e12)
	}
	fmt.Fprintf(s, "**Result.** At %s lines/s a pod, a node of %.0f pods gives its sidecars %s of a core, and the fleet stores %s TB a day; at %s lines/s, %s cores and %s TB. The memory of a node's sidecars is %s GiB. "+
		"With the default `--sync-interval` of a second, a node's disk has to do %.0f fsyncs a second for each stream that a pod writes. A restart of all pods within an hour takes %s of a core for the injector.\n\n",
		figure(least.lines), f.onNode, figure(f.onNode*f.cpu[0]/100), storage(least.lines), figure(most.lines), figure(f.onNode*f.cpu[len(rates)-1]/100), storage(most.lines),
		figure(f.onNode*f.memoryMiB/1024), f.onNode, figure(f.pods/restart*f.review()))
}

func (f fleet) node(s *strings.Builder) {
	fmt.Fprintf(s, "A node of %.0f pods, and the fleet's storage, with *L* lines a second and pod:\n\n", f.onNode)
	s.WriteString("    cores = 110 × CPU of a sidecar at L           memory = 110 × memory of a sidecar, and at most 110 × 64 MiB of tmpfs while no disk takes lines\n" +
		"    bytes to the disk = 110 × L × 130 × compression      storage a day = 100,000 × L × 130 × compression × 86,400 s\n\n")
	s.WriteString("| a pod logs | lines/s | cores of the node | to the node's disk, MB/s | a pod's storage a day, MB | the fleet's storage a day, TB |\n|---|---|---|---|---|---|\n")
	for i, r := range rates {
		bytes := r.lines * f.lineBytes * f.bytesOnDisk // a second and pod
		fmt.Fprintf(s, "| %s | %s | %s | %s | %s | %s |\n", r.name, figure(r.lines), figure(f.onNode*f.cpu[i]/100),
			figure(f.onNode*bytes/1e6), figure(bytes*86_400/1e6), figure(f.pods*bytes*86_400/1e12))
	}
	requests := wish.DefaultConfig().Resources.Requests
	cpu, memory := requests.Cpu(), requests.Memory()
	cores, gib := cpu.AsApproximateFloat64(), memory.AsApproximateFloat64()/(1<<30)
	fmt.Fprintf(s, "\nThe sidecars' memory is %s GiB of the node; the tmpfs can hold %s GiB more.\n"+
		"The scheduler uses their requests, %s of CPU and %s of memory each: %s cores and %s GiB of the node, %s cores and %s GiB of the fleet.\n\n",
		figure(f.onNode*f.memoryMiB/1024), figure(f.onNode*64/1024), cpu, memory, figure(f.onNode*cores), figure(f.onNode*gib), figure(f.pods*cores), figure(f.pods*gib))
}

func (f fleet) syncs(s *strings.Builder) {
	s.WriteString("A commit is one fsync for each stream that got lines since the last one; the checkpoint is on the tmpfs and needs none:\n\n    fsyncs a second = 110 × streams ÷ `--sync-interval`\n\n")
	s.WriteString("| `--sync-interval` | fsyncs a second, one stream a pod | two streams a pod | lines at risk when the node loses power |\n|---|---|---|---|\n")
	for _, seconds := range []float64{.2, 1, 5, 30} {
		fmt.Fprintf(s, "| %gs | %s | %s | of the last %g s |\n", seconds, figure(f.onNode/seconds), figure(2*f.onNode/seconds), seconds)
	}
	s.WriteString("\n")
}

func (f fleet) webhook(s *strings.Builder) {
	reviews := f.pods / restart
	fmt.Fprintf(s, "A sidecar asks the API server for nothing, whatever the size of the fleet: annotations reach it through a file that the kubelet writes. "+
		"The API server asks the injector once for each new pod, twice where another webhook changes the pod after it. When all %s pods restart within an hour:\n\n"+
		"    reviews a second = 100,000 ÷ 3,600 s = %s      cores of the injector = reviews × CPU of a review = %s\n\n", figure(f.pods), figure(reviews), figure(reviews*f.review()))
}
