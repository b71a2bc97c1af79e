package main

import (
	"fmt"
	"strings"
)

func (e *experiment) soakResult() string {
	var parts []string
	for _, r := range e.Rows {
		slope, _, _, ok := r.of("slope")
		first, _, _, _ := r.of("first")
		largest, _, _, _ := r.of("largest")
		if ok && slope > 0 {
			parts = append(parts, fmt.Sprintf("%s by %s (from %s, and at most to %s)", r.Contestant, figure(slope), figure(first), figure(largest)))
		}
	}
	text := "Nothing grew."
	if parts != nil {
		text = "Along its line, this grew: " + strings.Join(parts, "; ") + ". All else stayed or fell."
	}
	return text + " The slope is that of a least-squares line through the samples, multiplied by the time between the first and the last."
}

func (e *experiment) injectorResult() string {
	decode, patch := e.value("Review", "ns"), e.value("Mutate", "ns")
	return fmt.Sprintf("A pod costs the injector %s of CPU time: %s for its review, and %s for its patch.",
		amount((decode+patch)/1e9, "s", 1e3, "ms", "µs", "ns"), amount(decode/1e9, "s", 1e3, "ms", "µs", "ns"), amount(patch/1e9, "s", 1e3, "ms", "µs", "ns"))
}

func (e *experiment) reportResult() string {
	var parts []string
	for _, r := range e.Rows {
		speed, _, _, _ := r.of("speed")
		parts = append(parts, fmt.Sprintf("%s MB (%s)", figure(speed), r.Contestant))
	}
	return fmt.Sprintf("A CPU second reads %s. Its peak is %s MiB of memory.", strings.Join(parts, ", or "), e.extent("peak"))
}

// triedResult lists the ways that take less CPU time or space than the sidecar.
func (e *experiment) triedResult() string {
	plain, packed := e.find(pausePairs[0].on), e.find(pausePairs[1].on)
	var cheaper, cheaperPacked, smaller []string
	for _, w := range ways {
		r := e.find(w.name)
		cpu, _, _, ok := r.of("cpu")
		disk, _, _, _ := r.of("disk")
		if !ok {
			continue
		}
		mine := plain
		if w.options != nil {
			mine = packed
		}
		limit, _, _, _ := mine.of("cpu")
		space, _, _, _ := mine.of("disk")
		shown := fmt.Sprintf("%s (%s)", w.name, figure(cpu))
		switch {
		case cpu >= limit:
		case w.options == nil:
			cheaper = append(cheaper, shown)
		default:
			cheaperPacked = append(cheaperPacked, shown)
		}
		if w.options != nil && disk < 0.99*space {
			smaller = append(smaller, fmt.Sprintf("%s (%s)", w.name, figure(disk)))
		}
	}
	list := func(all []string) string {
		if all == nil {
			return "none"
		}
		return strings.Join(all, "; ")
	}
	cpuPlain, _, _, _ := plain.of("cpu")
	cpuPacked, _, _, _ := packed.of("cpu")
	disk, _, _, _ := packed.of("disk")
	return fmt.Sprintf("Less CPU time than the sidecar without compression (%s s/GiB): %s. Less than the sidecar with zstd (%s): %s. At least 1 %% less space than the sidecar with zstd (%s MiB/GiB): %s. "+
		"None of these loops looks at a line, and none keeps positions. A window of 8 MiB refers back to bytes that a reader who starts at a commit has not read: segments cannot use it. "+
		"`copy_file_range` is not among them: from a tmpfs to another file system it fails (EXDEV). Neither is `io_uring`: the profile that container runtimes have for system calls forbids it.",
		figure(cpuPlain), list(cheaper), figure(cpuPacked), list(cheaperPacked), figure(disk), list(smaller))
}

// hindsightResult compares the costs of holding and saving with the cost of persisting.
func (e *experiment) hindsightResult() string {
	cpu, stored := max(e.value(hindsightOff, "cpu"), 1e-9), max(e.value(hindsightOff, "stored"), 1e-9)
	share := func(name string) string {
		return fmt.Sprintf("%.0f %% of the CPU time and %.0f %% of the bytes on the disk", 100*e.value(name, "cpu")/cpu, 100*e.value(name, "stored")/stored)
	}
	return fmt.Sprintf("Of what it takes to persist all lines (%s ms, %s MiB): holding the lines below `info`, and saving none, takes %s; saving all of them takes %s.",
		figure(cpu), figure(stored), share(hindsightHeld), share(hindsightSaved))
}
