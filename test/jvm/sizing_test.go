package jvm

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/test/lab"
)

const (
	sizingFactor = 3   // the share of time that collections take may be this many times the promised share
	sizingSmall  = 0.7 // in this part of the recommended heap, the promise is not kept
	sizingTries  = 5   // attempts to show that: on a busy machine pauses are longer, so the recommended heap is larger
	sizingWait   = 0.6 // largest wait for a processor, as a share of the CPU time; with idle processors it is below 0.3
)

// sizingLoad returns the arguments of the program for a collector: MiB that stay live, MiB to allocate, and the
// amount of arithmetic for each KiB. Only an upper bound of the CPU time of a mostly concurrent collector is known,
// so the program allocates less for it. The program allocates less for Parallel as well: as the heap shrinks, the
// share of Parallel grows slowly until there is no room for the objects that a young collection promotes, and with
// this load the recommended heap is close to that limit.
func sizingLoad(c Collector) []string {
	switch {
	case mostlyConcurrent(c):
		return []string{"32", "600", "12000"}
	case c.Name == "parallel":
		return []string{"32", "900", "6000"}
	}
	return []string{"32", "1250", "4000"}
}

// The heap that a report recommends keeps its promise: collections take at most the promised share of the time,
// within a factor. In a smaller heap, they take more than that. In the recommended heap, their share is computed from
// the CPU time of the collector's threads and of the program's; no wall clock is involved. In the smaller heap, the
// share is that of its own report. A mostly concurrent collector decides from the rate of allocation and the duration
// of the last cycles when to begin a cycle: if the program had to wait for a processor, the rate differs from the
// reported rate, and the test checks nothing.
func TestTheRecommendedHeapKeepsItsPromise(t *testing.T) {
	jdk := jdks[len(jdks)-1]
	all, err := Collectors(jdk)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if slices.Contains([]string{"epsilon", "shenandoah-generational"}, c.Name) {
			continue // these have no sizing rule
		}
		t.Run(c.Name, func(t *testing.T) {
			for try := range sizingTries {
				now, advised := firstSized(t, jdk, c)
				most := int(advised.Max) >> 20
				large := sized(t, jdk, c, most)
				tight := sized(t, jdk, c, int(sizingSmall*float64(most)))
				t.Logf("%s, %s: after a run in %d MiB with a share of %.2f %%, the report recommends %d MiB for %.2f %%; the share in that heap is %.2f %%, a factor of %.2f; in %.0f %% of that heap it is %.2f %%, or %.2f %% according to the report", jdk, c.Name,
					now, 100**advised.Overhead, most, 100*advised.Target, 100*large.share, large.share/advised.Target, 100*sizingSmall, 100*tight.share, 100*tight.reported)
				if waited := max(large.waited, tight.waited); mostlyConcurrent(c) && waited > sizingWait {
					t.Logf("not judged: the machine is busy, so that the program waited for a processor for %.0f %% of its CPU time", 100*waited)
					return
				}
				if large.share > sizingFactor*advised.Target {
					t.Fatalf("collections took %.2f %% in the recommended heap, want at most %d times %.2f %%", 100*large.share, sizingFactor, 100*advised.Target)
				}
				if tight.reported > advised.Target {
					return
				}
				t.Logf("attempt %d of %d: the smaller heap kept the promise", try+1, sizingTries)
			}
			t.Errorf("the promise was kept in %.0f %% of the recommended heap in all %d attempts, want it broken in one", 100*sizingSmall, sizingTries)
		})
	}
}

// firstSized tries heaps of growing size until a report recommends a size. It returns the size of that heap in MiB
// and the recommendation. After a heap with too few collections to judge, or after the largest heap, it begins again
// with the smallest: on a busy machine, the small heaps may not have been judged.
func firstSized(t *testing.T, jdk lab.JDK, c Collector) (heap int, z *view.Sizing) {
	t.Helper()
	const smallest, largest, tries = 128, 1024, 16
	for range tries {
		if heap *= 2; heap > largest || z == nil || strings.Contains(z.Refused, "are needed") {
			heap = smallest
		}
		if z = sized(t, jdk, c, heap).sizing; z != nil && z.Max > 0 {
			return heap, z
		}
	}
	t.Fatalf("no recommended size in %d attempts, the last with a heap of %d MiB: %+v", tries, heap, z)
	return 0, nil
}

// mostlyConcurrent reports whether the collector does most of its work while the program runs.
func mostlyConcurrent(c Collector) bool { return c.Name == "z" || c.Name == "shenandoah" }

// trial is one run of the program in a heap of some size.
type trial struct {
	share    float64      // the collector's share of the time, if all threads always had a processor; 1 if the heap was too small
	reported float64      // the same according to the report, which counts pauses by their duration; 1 if the heap was too small
	waited   float64      // the wait for a processor, as a share of the CPU time of the program's threads
	sizing   *view.Sizing // the report's advice on the heap; nil if the heap was too small
}

// sized runs the program in a heap of that many MiB.
func sized(t *testing.T, jdk lab.JDK, c Collector, mib int) trial {
	t.Helper()
	log := filepath.Join(t.TempDir(), "gc.log")
	args := append([]string{fmt.Sprintf("-Xms%dm", mib), fmt.Sprintf("-Xmx%dm", mib), "-XX:ActiveProcessorCount=2", "-XX:+ExitOnOutOfMemoryError", Output{Selection: "gc*", File: log}.Flag()}, c.Flags...)
	p, err := Start(jdk, slices.Concat(args, []string{"-cp", classes, "Sizes"}, sizingLoad(c))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(10 * time.Minute); err != nil && strings.Contains(err.Error(), "OutOfMemoryError") {
		return trial{share: 1, reported: 1}
	} else if err != nil {
		t.Fatal(err)
	}
	var got trial
	var own, collector, waited float64
	if _, err := fmt.Sscan(p.said.String(), &own, &collector, &waited); err != nil {
		t.Fatal(err)
	}
	workers := 2.0
	if c.Name == "serial" {
		workers = 1
	}
	got.share, got.waited = collector/workers/(collector/workers+own/2), waited/own
	r, err := report.Read(context.Background(), []string{log}, report.Config{SizingWindow: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	got.sizing = r.Runs[0].Sizing
	got.reported = *got.sizing.Overhead
	t.Logf("%d MiB: %.3f s of CPU time for collections, %.2f s for the program: %.2f %%, by the report %.2f %%; a wait of %.0f %%; %s %s", mib, collector/1e9, own/1e9, 100*got.share, 100*got.reported, 100*got.waited, r.Advice[0].Text, r.Advice[0].Evidence)
	return got
}
