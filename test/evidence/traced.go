package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// shownStalls is how many stalls of one run the page shows.
const shownStalls = 5

// traced times each write of a log on the saturated disk. It uses separate runs for this, because tracing slows a JVM
// down.
func traced(a application) (*experiment, error) {
	x := &experiment{
		Name: "traced", Title: "The writes that waited", Plot: "longest",
		Question: "Is it the `write(2)` of its log that stops a JVM on a saturated disk, and what does it wait for?",
		Method: fmt.Sprintf("The disks are those of the experiment with a saturated disk. The JVM runs under `strace -T`, which times each write to `gc.log`. A write that takes longer than %d ms is a stall. A stall is proven if a pause in the JVM's own log (a safepoint or a collection) contains the write, within %d ms. "+
			"A hundred times a second, the kernel's stacks of waiting threads are read (`/proc/PID/task/TID/stack`): `balance_dirty_pages` and waits for pages are classed as write-back, functions of jbd2 as the journal.", longWait.Milliseconds(), precision.Milliseconds()),
		Threat: "Tracing adds some microseconds to each system call. Waits shorter than 10 ms are rarely sampled.",
		Columns: []column{{"writes", "writes"}, {"longest", "longest write, ms"}, {"stalls", "stalls"}, {"proven", "of these in a pause"},
			{onPages, "wait for write-back, % of samples"}, {onJournal, "for the journal, %"}, {onOther, "for something else, %"}},
	}
	can, cannot := saturable()
	if _, err := exec.LookPath("strace"); err != nil && len(can) > 0 {
		can, cannot = nil, "it has no `strace`"
	}
	if len(can) == 0 {
		x.NotRun = cannot
		return x, nil
	}
	newest := a.jdks[len(a.jdks)-1]
	var all []entry
	for i, m := range can {
		last := i == len(can)-1
		if a.rounds < leastRounds && !last {
			continue
		}
		for _, l := range essentialLoggings() {
			if l.place == "off" || l.place == "shipped" && !last {
				continue
			}
			name := rated.on(newest) + ", " + m.name + ": " + l.name
			all = append(all, entry{name, func() (figures, error) {
				fmt.Println("  " + name)
				return traceOne(a, x, name, setting{newest, rated, m.fault(saturating)}, l)
			}})
		}
	}
	return x, a.inTurn(x, all)
}

// traceOne runs one JVM. The page lists the stalls of the first run of a row.
func traceOne(a application, x *experiment, name string, in setting, l logging) (figures, error) {
	dir, err := fresh(a.shm, "traces")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	t := &tracer{prefix: filepath.Join(dir, "trace")}
	if _, _, err := a.stopOne(in, l, t); err != nil {
		return nil, err
	}
	if err := t.readWrites(); err != nil {
		return nil, err
	}
	if r := x.row(name); r.Listing == nil {
		r.Listing = t.listing(name)
	}
	return t.figures(), nil
}

// listing shows the longest stalls.
func (t *tracer) listing(name string) []string {
	stalls := t.stalls()
	all := []string{fmt.Sprintf("%s: %d stalls", name, len(stalls))}
	if t.hidden != nil {
		all = append(all, fmt.Sprintf("  the kernel does not say where threads wait: %v", t.hidden))
	}
	for _, s := range stalls[:min(len(stalls), shownStalls)] {
		all = append(all, "  "+s.String())
	}
	return all
}
