package footprint

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// The reserve is the estimated memory that a JVM needs in addition to its heap: classes, compiled code,
// threads, the collector. It is 15 % of the difference between the limit and the size of the log, but
// at least leastReserve. So if the limit is raised by the size of the log, the JVM has as much room as
// under the earlier limit.
const (
	reservePercent = 15
	leastReserve   = 64 << 20
)

// Container is what a pod shows about a container with a JVM.
type Container struct {
	Command, Args []string
	Env           []Variable
	Limit         int64 // memory limit, in bytes
	Log           int64 // size of the tmpfs of its log, in bytes
	Raised        bool  // the injector has raised Limit by Log and keeps the heap from growing with it
}

// Variable is a variable of the environment. If Value is empty, the value may come from elsewhere.
type Variable struct{ Name, Value string }

// Estimate is the most memory that the container can take.
type Estimate struct {
	written    int64 // the limit in the manifest of the pod
	limit, log int64
	raised     bool // limit is written + log
	options    options
	heap       heap
}

// Of returns the estimate of a container that has a limit.
func Of(c Container) Estimate {
	e := Estimate{log: c.Log, raised: c.Raised, options: optionsOf(c)}
	if !c.Raised {
		return e.at(c.Limit)
	}
	e.options.unpin(c.Limit - c.Log)
	return e.at(c.Limit - c.Log)
}

// Raised returns the estimate after the injector has raised the limit by the size of the log.
func (e Estimate) Raised() Estimate {
	e.raised = true
	return e.at(e.written)
}

// at returns the estimate for another limit in the manifest.
func (e Estimate) at(written int64) Estimate {
	e.written = min(written, huge)
	e.limit = e.written
	if e.raised {
		e.limit = min(e.written+e.log, huge)
	}
	e.heap = e.options.heap(e.written)
	if e.heap.whole > 0 { // the image reads the limit of its cgroup
		e.heap = e.options.heap(e.limit)
	}
	return e
}

// reserve returns the memory that the JVM needs in addition to its heap.
func (e Estimate) reserve() int64 {
	return max(leastReserve, (e.limit-e.log)/100*reservePercent)
}

// Sum returns the sum of all parts, in bytes.
func (e Estimate) Sum() int64 {
	if e.heap.whole > 0 {
		return e.heap.whole + e.log
	}
	return e.heap.bytes + e.log + e.reserve()
}

// Exceeds reports whether the parts leave no room below the limit.
func (e Estimate) Exceeds() bool { return e.Sum() >= e.limit }

// HeapGrows reports whether the heap would grow with the limit.
func (e Estimate) HeapGrows() bool { return !e.heap.pinned && !e.heap.bounded }

// Shown reports whether an option that the pod shows decides the size of the heap. If not, another option
// may decide it: one in the image, or in a variable whose value comes from elsewhere.
func (e Estimate) Shown() bool { return e.heap.by != "" || e.heap.whole > 0 }

// Parts names the parts of the sum and their sizes.
func (e Estimate) Parts() string {
	if e.heap.whole > 0 {
		return fmt.Sprintf("the JVM %d MiB (sized by its image), and %d MiB on the log's tmpfs", inMiB(e.heap.whole), inMiB(e.log))
	}
	return fmt.Sprintf("heap %d MiB (%s), %d MiB on the log's tmpfs, and %d MiB for the rest of the JVM",
		inMiB(e.heap.bytes), cmp.Or(e.heap.by, "by default"), inMiB(e.log), inMiB(e.reserve()))
}

// String returns the sum with its parts, and the limit.
func (e Estimate) String() string {
	return fmt.Sprintf("%s: %d MiB in all, the limit is %d MiB", e.Parts(), inMiB(e.Sum()), e.limit>>20)
}

// Advice says what to write so that the sum stays below the limit. raise is the text that makes the
// injector raise the limit by the size of the log; empty: the injector cannot, or already does. If
// that raise is enough, Advice names it first.
func (e Estimate) Advice(raise string) string {
	buffer := "use a smaller buffer"
	if e.Raised().Exceeds() {
		raise = ""
	}
	if e.raised {
		buffer = "" // the limit would be raised by less
	}
	ways := []string{raise, e.higherLimit(), e.smallerHeap(), buffer}
	ways = slices.DeleteFunc(ways, func(way string) bool { return way == "" })
	switch last := len(ways) - 1; last {
	case -1:
		return "raise the limit, and give the heap a smaller share of it"
	case 0:
		return ways[0]
	default:
		return strings.Join(ways[:last], ", ") + ", or " + ways[last]
	}
}

// higherLimit names the lowest limit in the manifest that has room for the sum. It returns "" if no limit
// has room because the heap grows with the limit.
func (e Estimate) higherLimit() string {
	const most = 1 << 20 // MiB: more memory than a node has
	if n := sort.Search(most, func(n int) bool { return !e.at(int64(n) << 20).Exceeds() }); n < most {
		return fmt.Sprintf("raise the limit to %dMi", n)
	}
	return ""
}

// smallerHeap names the option that leaves room for the rest. It returns "" if the rest alone exceeds the limit.
func (e Estimate) smallerHeap() string {
	room := e.limit - e.log - e.reserve() - 1
	percent := room * 100 / max(e.heap.memory, 1)
	switch {
	case e.heap.whole > 0 && e.log < e.limit:
		return fmt.Sprintf("set %s to at least %d", headRoom, e.log*100/e.limit+1)
	case e.heap.whole > 0 || room < 1<<20:
		return ""
	case strings.HasPrefix(e.heap.by, maxShare) && percent > 0:
		return fmt.Sprintf("write %s%d instead of %s", maxShare, percent, e.heap.by)
	case e.heap.by != "":
		return fmt.Sprintf("write -Xmx%dm instead of %s", room>>20, e.heap.by)
	}
	return fmt.Sprintf("write -Xmx%dm", room>>20)
}

func inMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
