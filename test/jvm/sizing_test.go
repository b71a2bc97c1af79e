package jvm

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/test/lab"
)

const (
	sizingFactor = 3   // a promise is kept within this factor
	sizingSmall  = 0.7 // share of the recommended heap in which it is not kept
)

// sizingLoads are the arguments of the program: MiB that live, MiB to allocate, and arithmetic for each KiB. For a
// mostly concurrent collector only an upper bound of its CPU time is known, so the program needs to do less.
var sizingLoads = map[bool][]string{false: {"32", "1250", "4000"}, true: {"32", "600", "12000"}}

// The heap that a report recommends keeps its promise: collections take the promised share of the CPU time, within a
// factor, and are more frequent in a smaller heap. Their share is the CPU time of the process that the program's own
// threads did not use, by their own measurement; no wall clock is involved. On a busy machine, threads of Parallel
// spin for each other, so its work may be the same in two heaps; only the frequency is checked there. ZGC begins a
// cycle by the rate of allocation and the duration of the last cycles, which a busy machine changes; for ZGC only the
// promise is checked.
func TestTheRecommendedHeapKeepsItsPromise(t *testing.T) {
	jdk := jdks[len(jdks)-1]
	all, err := Collectors(jdk)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if slices.Contains([]string{"epsilon", "shenandoah-generational"}, c.Name) {
			continue // for these there is no rule
		}
		t.Run(c.Name, func(t *testing.T) {
			now, advised := firstSized(t, jdk, c)
			most := int(advised.Max) >> 20
			promised, large := sized(t, jdk, c, most)
			small, tight := sized(t, jdk, c, int(sizingSmall*float64(most)))
			t.Logf("%s, %s: from a heap of %d MiB with %.2f %%, %d MiB for %.2f %%: it was %.2f %%, a factor of %.2f; with %.0f %% of that heap %.2f %%", jdk, c.Name,
				now, 100**advised.Overhead, most, 100*advised.Target, 100*promised, promised/advised.Target, 100*sizingSmall, 100*small)
			if promised > sizingFactor*advised.Target {
				t.Errorf("collections took %.2f %% in the recommended heap, want at most %d times %.2f %%", 100*promised, sizingFactor, 100*advised.Target)
			}
			if c.Name != "z" && tight != nil && tight.Collections <= large.Collections {
				t.Errorf("%d collections in %.0f %% of the recommended heap, want more than the %d there", tight.Collections, 100*sizingSmall, large.Collections)
			}
		})
	}
}

// firstSized returns the first heap, in MiB, for which a report recommends a size. The refusal of a small heap
// advises a larger one, and that of a large heap says that it is collected too seldom. If a busy machine has kept the
// small heaps from being judged, they are tested again.
func firstSized(t *testing.T, jdk lab.JDK, c Collector) (heap int, z *view.Sizing) {
	t.Helper()
	const smallest, largest, tries = 128, 1024, 16
	for range tries {
		if heap *= 2; heap > largest || z == nil || strings.Contains(z.Refused, "are too few") {
			heap = smallest
		}
		if _, z = sized(t, jdk, c, heap); z != nil && z.Max > 0 {
			return heap, z
		}
	}
	t.Fatalf("no recommended size in %d attempts, the last with a heap of %d MiB: %+v", tries, heap, z)
	return 0, nil
}

// sized runs the program in a heap of that many MiB. It returns which share of the CPU time its collector took, 1 if
// the heap was too small, and what a report says about the heap.
func sized(t *testing.T, jdk lab.JDK, c Collector, mib int) (share float64, z *view.Sizing) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "gc.log")
	args := append([]string{fmt.Sprintf("-Xms%dm", mib), fmt.Sprintf("-Xmx%dm", mib), "-XX:ActiveProcessorCount=2", Output{Selection: "gc*", File: log}.Flag()}, c.Flags...)
	load := sizingLoads[c.Name == "z" || c.Name == "shenandoah"]
	p, err := Start(jdk, slices.Concat(args, []string{"-cp", classes, "Sizes"}, load)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(10 * time.Minute); err != nil && strings.Contains(err.Error(), "OutOfMemoryError") {
		return 1, nil
	} else if err != nil {
		t.Fatal(err)
	}
	if share, err = strconv.ParseFloat(strings.TrimSpace(p.said.String()), 64); err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(context.Background(), []string{log}, report.Config{SizingWindow: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB: %.2f %% of the CPU time; %s %s", mib, 100*share, r.Advice[0].Text, r.Advice[0].Evidence)
	return share, r.Runs[0].Sizing
}
