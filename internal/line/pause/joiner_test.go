package pause

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// joined is everything that a Joiner reports about a log.
type joined struct {
	runs        []Run
	pauses      []GCPause
	timed       int
	waits       []Wait
	stops       []Stop
	collections []Collection
}

func join(lines [][]byte) *joined {
	all := &joined{}
	j := NewJoiner(Handlers{
		Run:   func(r *Run) { all.runs = append(all.runs, *r) },
		Pause: func(p *GCPause) { all.pauses = append(all.pauses, *p) },
		Timed: func(*GCPause) { all.timed++ },
		Wait:  func(w *Wait) { all.waits = append(all.waits, *w) },
		Stop: func(s *Stop) {
			stop := *s
			stop.Pauses = append([]GCPause(nil), s.Pauses...)
			all.stops = append(all.stops, stop)
		},
		Collection: func(c *Collection) {
			collection := *c
			collection.Pauses = append([]GCPause(nil), c.Pauses...)
			all.collections = append(all.collections, collection)
		},
	})
	var class ul.Classifier
	for _, line := range lines {
		j.Line(line, class.Classify(line))
	}
	j.Flush()
	return all
}

// Whichever lines of a pause are in the log, the pause belongs to one stop and one collection.
func TestEachPauseIsInOneStopAndOneCollection(t *testing.T) {
	for _, s := range samples {
		lines := sample(t, s.name)
		all := join(lines)
		inStops, inCollections, safepoints := 0, 0, 0
		for _, stop := range all.stops {
			inStops += len(stop.Pauses)
			if stop.Safepoint {
				safepoints++
			}
		}
		for _, c := range all.collections {
			inCollections += len(c.Pauses)
		}
		if len(all.pauses) != s.pauses || inStops != s.pauses || inCollections != s.pauses || safepoints != s.safepoints || all.timed != s.cpu {
			t.Errorf("%s: %d pauses, in stops %d, in collections %d, %d safepoints, %d CPU times; want %d, %d, %d", s.name,
				len(all.pauses), inStops, inCollections, safepoints, all.timed, s.pauses, s.safepoints, s.cpu)
		}
	}
}

func TestYoungAndFullInOneSafepointAreOneStop(t *testing.T) {
	all := join(sample(t, "parallel-jdk17.log"))
	for _, stop := range all.stops {
		if stop.Operation != "ParallelGCSystemGC" {
			continue
		}
		if len(stop.Pauses) != 2 || stop.Pauses[0].Action != "young" || stop.Pauses[1].Action != "full" || stop.Pauses[1].Cause != "System.gc()" {
			t.Errorf(`the stop is %+v, want 2 pauses: the first with Action "young", the second with Action "full" and Cause "System.gc()"`, stop)
		}
		if times := stop.Times(); !times.Known || times.User != 20*time.Millisecond {
			t.Errorf("the CPU times of the stop are %+v, want Known true and User 20 ms", times)
		}
		return
	}
	t.Error("got no stop of System.gc(), want one")
}

// The lines of a debug log are joined. A log with only some of the lines has the same
// pauses.
func TestPausesOfPartsOfALog(t *testing.T) {
	whole := lines(
		"[1.000s][info][gc] Using G1",
		"[1.000s][info][gc,init] Version: 25.0.3+9-LTS (release)",
		"[1.000s][info][gc,init] Heap Region Size: 1M",
		"[1.000s][info][gc,init] Parallel Workers: 2",
		"[2.000s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
		"[2.000s][info][gc,task] GC(0) Using 2 workers of 2 for evacuation",
		"[2.010s][info][gc,heap] GC(0) Eden regions: 37->0(37)",
		"[2.010s][info][gc,heap] GC(0) Old regions: 11->13",
		"[2.010s][info][gc,metaspace] GC(0) Metaspace: 151K(384K)->151K(384K) NonClass: 145K(256K)->145K(256K) Class: 6K(128K)->6K(128K)",
		"[2.010s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 46M->9M(64M) 10.000ms",
		"[2.010s][info][gc,cpu] GC(0) User=0.02s Sys=0.00s Real=0.01s",
		`[2.010s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 10000 ns, At safepoint: 10010000 ns, Leaving safepoint: 2000 ns, Total: 10022000 ns, Threads: 0 runnable, 12 total`,
		"[3.000s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 46M->9M(64M) 20.000ms",
		"[3.000s][info][gc,cpu] GC(1) User=0.02s Sys=0.00s Real=0.02s",
		`[3.000s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 10000 ns, At safepoint: 20010000 ns, Leaving safepoint: 2000 ns, Total: 20022000 ns, Threads: 0 runnable, 12 total`,
		`[3.500s][info][safepoint] Safepoint "ThreadDump", Time since last: 5 ns, Reaching safepoint: 10000 ns, At safepoint: 20010000 ns, Leaving safepoint: 2000 ns, Total: 20022000 ns, Threads: 0 runnable, 12 total`)
	all := join(whole)
	if len(all.runs) != 1 || !all.runs[0].Started || all.runs[0].Collector != G1 || all.runs[0].RegionSize != 1<<20 || all.runs[0].Workers != 2 || all.runs[0].Version != "25.0.3+9-LTS (release)" {
		t.Errorf("the runs are %+v, want 1 with Started true, Collector %v, RegionSize 1 MiB, Workers 2 and Version 25.0.3+9-LTS (release)", all.runs, G1)
	}
	if len(all.stops) != 3 || len(all.collections) != 2 {
		t.Fatalf("%d stops, %d collections, want 3 and 2", len(all.stops), len(all.collections))
	}
	c := all.collections[0]
	if c.Promoted != 2<<20 || c.Allocated != -1 || all.collections[1].Allocated != 37<<20 || c.Metaspace.After != 151<<10 || c.Heap != mib(46, 9, 64) ||
		c.Cause != "G1 Evacuation Pause" || c.Action != "young" || c.Start.Uptime != 1990*time.Millisecond && c.Start.Uptime != 2*time.Second || c.Marks != 0 || c.Pauses[0].Workers != 2 {
		t.Errorf("the first collection is %+v, want young, G1 Evacuation Pause, Heap 46M->9M(64M), Promoted 2 MiB, Allocated -1 and %d in the second, "+
			"Metaspace.After 151 KiB, Start.Uptime 1.99s or 2s, no Marks and 2 Workers; the second is %+v", c, 37<<20, all.collections[1])
	}
	if s := all.stops[0]; s.Duration != 10022000 || len(s.Pauses) != 1 || s.Times() != (Times{User: 20 * time.Millisecond, Real: 10 * time.Millisecond, Known: true}) || s.Lines != [2]uint64{10, 12} {
		t.Errorf("the first stop is %+v, want Duration 10.022ms, 1 pause, Times with User 20ms and Real 10ms, and Lines [10 12]", s)
	}
	for _, without := range []string{"[safepoint]", "[gc,cpu]", "[gc]", "[gc,heap]"} {
		var part [][]byte
		for _, line := range whole {
			if !bytes.Contains(line, []byte(without)) {
				part = append(part, line)
			}
		}
		all := join(part)
		want := 3
		if without == "[safepoint]" {
			want = 2
		}
		if len(all.stops) != want {
			t.Errorf("without %s: %d stops, want %d", without, len(all.stops), want)
		}
	}
}

// Serial of JDK 11 begins and ends a full collection inside a young collection. The
// application was stopped once, for the duration of the safepoint.
func TestACollectionInsideOfAnotherIsInTheSameStop(t *testing.T) {
	all := join(lines(
		"[7.600s][info][safepoint] Entering safepoint region: GenCollectForAllocation",
		"[7.600s][info][gc,start] GC(21) Pause Young (Allocation Failure)",
		"[7.600s][info][gc,start] GC(22) Pause Full (Allocation Failure)",
		"[7.684s][info][gc] GC(22) Pause Full (Allocation Failure) 60M->8M(61M) 83.485ms",
		"[7.684s][info][gc,cpu] GC(22) User=0.02s Sys=0.00s Real=0.09s",
		"[7.684s][info][gc] GC(21) Pause Young (Allocation Failure) 60M->8M(61M) 83.859ms",
		"[7.684s][info][gc,cpu] GC(21) User=0.02s Sys=0.00s Real=0.08s",
		"[7.684s][info][safepoint] Leaving safepoint region",
		"[7.684s][info][safepoint] Total time for which application threads were stopped: 0.0840973 seconds, Stopping threads took: 0.0000083 seconds"))
	if len(all.stops) != 1 || len(all.stops[0].Pauses) != 2 || all.stops[0].Duration != 84097300 || len(all.collections) != 2 {
		t.Errorf("%d collections in the stops %+v, want 2 collections in 1 stop, with 2 pauses and Duration 84097300", len(all.collections), all.stops)
	}
}

// JDK 11 runs all waiting operations in one safepoint, which has the name of the first.
func TestAPauseInTheSafepointOfAnotherOperationIsInItsStop(t *testing.T) {
	all := join(lines(
		"[5.700s][info][safepoint] Entering safepoint region: ClassLoaderStatsOperation",
		"[5.790s][info][gc] GC(0) Pause Final Update Refs 0.159ms",
		"[5.794s][info][safepoint] Leaving safepoint region",
		"[5.794s][info][safepoint] Total time for which application threads were stopped: 0.0938692 seconds, Stopping threads took: 0.0933602 seconds"))
	if len(all.stops) != 1 || len(all.stops[0].Pauses) != 1 || all.stops[0].Name != "ClassLoaderStatsOperation" {
		t.Errorf(`the stops are %+v, want 1 with 1 pause and Name "ClassLoaderStatsOperation"`, all.stops)
	}
}

// Written by hand from the format strings of JDK 11's gcTraceTime.inline.hpp, safepoint.cpp
// and runtimeService.cpp: the operation is in a line of its own, and CPU times also follow
// each concurrent phase of CMS.
func TestConcurrentMarkSweepOfJDK11(t *testing.T) {
	all := join(lines(
		"[0.010s][info][gc] Using Concurrent Mark Sweep",
		"[1.000s][info][safepoint] Entering safepoint region: CMS_Initial_Mark",
		"[1.000s][info][gc,start] GC(2) Pause Initial Mark",
		"[1.001s][info][gc] GC(2) Pause Initial Mark 30M->30M(64M) 1.234ms",
		"[1.001s][info][gc,cpu] GC(2) User=0.00s Sys=0.00s Real=0.00s",
		"[1.001s][info][safepoint] Leaving safepoint region",
		"[1.001s][info][safepoint] Total time for which application threads were stopped: 0.0013456 seconds, Stopping threads took: 0.0000456 seconds",
		"[1.001s][info][gc] GC(2) Concurrent Mark",
		"[1.101s][info][gc] GC(2) Concurrent Mark 100.000ms",
		"[1.101s][info][gc,cpu] GC(2) User=0.01s Sys=0.00s Real=0.10s",
		"[1.102s][info][gc] GC(3) Pause Young (Allocation Failure) 40M->20M(64M) 5.000ms",
		"[1.102s][info][gc,cpu] GC(3) User=0.01s Sys=0.00s Real=0.01s",
		"[1.202s][info][gc] GC(2) Concurrent Abortable Preclean 90.000ms",
		"[1.202s][info][gc,cpu] GC(2) User=0.01s Sys=0.00s Real=0.09s",
		"[1.203s][info][gc] GC(2) Pause Remark 30M->30M(64M) 2.000ms",
		"[1.203s][info][gc,cpu] GC(2) User=0.00s Sys=0.00s Real=0.00s",
		"[1.303s][info][gc] GC(2) Concurrent Sweep 90.000ms",
		"[1.403s][info][gc] GC(2) Concurrent Reset 1.000ms",
		"[1.403s][info][gc,cpu] GC(2) User=0.00s Sys=0.00s Real=0.00s"))
	if len(all.collections) != 2 || all.collections[0].GC != 3 || all.collections[1].Count != 2 || all.collections[1].Collector != CMS || all.collections[1].Marks != 0 {
		t.Errorf("the collections are %+v, want 2: the first with GC 3, the second with Count 2, Collector %v and no Marks", all.collections, CMS)
	}
	if all.timed != 3 {
		t.Errorf("%d CPU times of pauses, want 3", all.timed)
	}
	if s := all.stops[0]; s.Operation != "CMS_Initial_Mark" || len(s.Pauses) != 1 || s.Reaching != 45600 {
		t.Errorf(`the first stop is %+v, want Operation "CMS_Initial_Mark", 1 pause and Reaching 45600`, s)
	}
	for _, s := range all.stops {
		if s.Suspect(0) != NoSuspicion {
			t.Errorf("the stop is suspected: %v, want %v: %+v", s.Suspect(0), NoSuspicion, s)
		}
	}
}

// From a log of JDK 25.0.3: the CPU times of the pause come after the first lines of the
// concurrent cycle that the pause began.
func TestTimesBehindTheCycleThatAPauseBegan(t *testing.T) {
	all := join(lines(
		"[0.500s][info][gc          ] GC(12) Pause Young (Normal) (G1 Evacuation Pause) 46M->9M(64M) 1.000ms",
		"[0.500s][info][gc,cpu      ] GC(12) User=0.00s Sys=0.00s Real=0.00s",
		"[0.608s][info][gc          ] GC(13) Pause Young (Concurrent Start) (G1 Humongous Allocation) 29M->28M(64M) 1.114ms",
		"[0.608s][info][gc          ] GC(14) Concurrent Undo Cycle",
		"[0.608s][info][gc,marking  ] GC(14) Concurrent Clear Claimed Marks 0.007ms",
		"[0.609s][info][gc,cpu      ] GC(13) User=0.01s Sys=0.00s Real=0.00s",
		"[0.609s][info][gc,marking  ] GC(14) Concurrent Cleanup for Next Mark 0.083ms",
		"[0.609s][info][gc          ] GC(14) Concurrent Undo Cycle 0.116ms"))
	if len(all.collections) != 3 || all.timed != 2 {
		t.Fatalf("%d CPU times are joined; the collections are %+v, want 2 CPU times and 3 collections", all.timed, all.collections)
	}
	for i, want := range []string{"young", "concurrent start", "undo cycle"} {
		if c := all.collections[i]; c.Action != want || c.Marks&Cut != 0 {
			t.Errorf("the collection is %+v, want Action %s and no mark Cut", c, want)
		}
	}
	if times := all.collections[1].Pauses[0].Times; times.User != 10*time.Millisecond {
		t.Errorf("the CPU times of the pause are %+v, want User 10 ms", times)
	}
}

// From a log of JDK 25.0.3: the line of the metaspace comes after the safepoint and ends a
// cycle. The last cycle has the form of JDK 17, in which the line of the metaspace has no number.
func TestCyclesOfShenandoah(t *testing.T) {
	safepoint := "[0.592s][info][safepoint] Safepoint \"ShenandoahDegeneratedGC\", Time since last: 4411964 ns, Reaching safepoint: 3005 ns, At safepoint: 3770000 ns, Leaving safepoint: 10 ns, Total: 3773015 ns, Threads: 0 runnable, 12 total"
	metaspace := "Metaspace: 3750K(3904K)->3750K(3904K) NonClass: 3341K(3392K)->3341K(3392K) Class: 409K(512K)->409K(512K)"
	all := join(lines(
		"[0.500s][info][gc          ] Using Shenandoah",
		"[0.578s][info][gc          ] GC(5) Concurrent reset (unload classes) 2.368ms",
		"[0.578s][info][gc          ] GC(5) Pause Init Mark (unload classes) 0.027ms",
		"[0.584s][info][gc          ] GC(5) Concurrent marking (unload classes) 5.135ms",
		"[0.587s][info][gc,metaspace] GC(5) "+metaspace,
		"[0.592s][info][gc          ] GC(6) Pause Degenerated GC (Evacuation) 26M->12M(64M) 3.747ms",
		safepoint,
		"[0.593s][info][gc,metaspace] GC(6) "+metaspace,
		"[0.600s][info][gc          ] GC(7) Pause Init Mark 0.027ms",
		"[0.601s][info][gc          ] GC(7) Pause Final Update Refs 0.012ms",
		"[0.601s][info][gc          ] GC(7) Concurrent cleanup 24M->12M(64M) 0.025ms"))
	if len(all.collections) != 3 || len(all.stops) != 4 || all.collections[2].Marks != 0 || all.collections[2].Heap.After != 12<<20 {
		t.Fatalf("there are %d stops; the collections are %+v, want 4 stops and 3 collections, the last with Marks 0 and Heap.After 12 MiB", len(all.stops), all.collections)
	}
	if c := all.collections[0]; c.Action != "concurrent cycle" || c.Marks != 0 || c.Metaspace.After != 3750<<10 {
		t.Errorf(`the first collection is %+v, want Action "concurrent cycle", Marks 0 and Metaspace.After 3750 KiB`, c)
	}
	if c := all.collections[1]; c.Action != "degenerated gc" || c.Marks != Degenerated || c.Metaspace.After != 3750<<10 {
		t.Errorf(`the second collection is %+v, want Action "degenerated gc", Marks %v and Metaspace.After 3750 KiB`, c, Degenerated)
	}
}

func TestCyclesOfZ(t *testing.T) {
	all := join(lines(
		"[0.100s][info][gc] Using The Z Garbage Collector",
		"[1.000s][info][gc] GC(4) Major Collection (Proactive)",
		"[1.001s][info][gc,phases] GC(4) Y: Pause Mark Start (Major) 0.025ms",
		"[1.010s][info][gc,phases] GC(4) Y: Concurrent Mark 9.000ms",
		"[1.011s][info][gc,phases] GC(4) Y: Pause Mark End 0.014ms",
		"[1.019s][info][gc,heap] GC(4) Y: Young Generation Statistics:",
		"[1.020s][info][gc,heap] GC(4) Y:   Promoted:         -                 0M (0%)            1M (2%)            3M (5%)             -                  -          ",
		"[1.020s][info][gc,phases] GC(4) Y: Young Generation 8M(12%)->12M(19%) 0.011s",
		"[1.025s][info][gc] GC(5) Minor Collection (Allocation Rate)",
		"[1.026s][info][gc,phases] GC(5) y: Pause Mark Start 0.025ms",
		"[1.027s][info][gc] Allocation Stall (main) 5.811ms",
		"[1.028s][info][gc] GC(5) Minor Collection (Allocation Rate) 20M(31%)->10M(16%) 0.003s",
		"[1.030s][info][gc,phases] GC(4) O: Pause Mark End 0.007ms",
		"[1.040s][info][gc] GC(4) Major Collection (Proactive) 8M(12%)->7M(11%) 0.040s"))
	if len(all.collections) != 2 || all.collections[0].GC != 5 {
		t.Fatalf("the collections are %+v, want 2, the first with GC 5", all.collections)
	}
	c := all.collections[1]
	if c.Collector != GenerationalZ || c.Action != "major collection" || c.Cause != "Proactive" || c.Count != 3 || c.Promoted != 3<<20 || c.Heap.Before != 8<<20 || c.Heap.After != 7<<20 ||
		c.Pauses[0].Cause != "Proactive" || c.Start.Uptime != time.Second || c.End.Uptime != 1040*time.Millisecond {
		t.Errorf(`the second collection is %+v, want Collector %v, Action "major collection", Cause "Proactive" (of its first pause too), `+
			`Count 3, Promoted 3 MiB, Heap from 8 MiB to 7 MiB, Start at 1s and End at 1.04s`, c, GenerationalZ)
	}
	if len(all.waits) != 1 || all.waits[0].Thread != "main" || all.waits[0].Duration != 5811*time.Microsecond {
		t.Errorf("the waits are %+v, want 1 with Thread main and Duration 5.811ms", all.waits)
	}
}

func TestARestartOfTheJVMIsANewRun(t *testing.T) {
	for name, log := range map[string][][]byte{
		"by its start": lines("[gc] Using G1", "[gc] GC(0) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", "[gc] Using G1", "[gc] GC(0) Pause Full (System.gc()) 20M->8M(34M) 1.000ms"),
		"by uptime":    lines("[9.000s][gc] GC(7) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", "[1.000s][gc] GC(7) Pause Full (System.gc()) 20M->8M(34M) 1.000ms"),
		"by number":    lines("GC(20) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", "GC(0) Pause Full (System.gc()) 20M->8M(34M) 1.000ms"),
	} {
		all := join(log)
		if len(all.runs) != 2 || all.runs[1].Number != 2 || len(all.collections) != 2 || all.collections[1].Run != 2 || all.collections[1].Allocated != -1 {
			t.Errorf("%s: the runs are %+v, want 2, the second with Number 2\nthe collections are %+v, want 2, the second with Run 2 and Allocated -1", name, all.runs, all.collections)
		}
	}
}

// Figures joined from several lines would mix two heaps.
func TestTwoJVMsInOneFileAreSeen(t *testing.T) {
	all := join(lines(
		"[90.000s][info][gc] GC(50) Pause Full (System.gc()) 90M->80M(340M) 1.000ms",
		"[1.000s][info][gc] GC(0) Pause Full (System.gc()) 9M->8M(34M) 1.000ms",
		"[91.000s][info][gc] GC(51) Pause Full (System.gc()) 90M->80M(340M) 1.000ms",
		"[2.000s][info][gc] GC(1) Pause Full (System.gc()) 9M->8M(34M) 1.000ms",
		"[92.000s][info][gc] GC(52) Pause Full (System.gc()) 90M->80M(340M) 1.000ms"))
	last := all.runs[len(all.runs)-1]
	if !last.Mixed || last.Number != 2 || len(all.collections) != 5 || len(all.stops) != 5 {
		t.Errorf("the runs are %+v, with %d collections and %d stops; want the last run with Mixed true and Number 2, 5 collections and 5 stops", all.runs, len(all.collections), len(all.stops))
	}
	for _, c := range all.collections {
		if c.Allocated > 0 {
			t.Errorf("the collection has an Allocated that was computed from two heaps, want at most 0: %+v", c)
		}
	}
}

// Two JVMs that started together have the same uptimes, but the numbers of their collections show that there are two.
func TestTwoJVMsThatStartedTogetherAreSeen(t *testing.T) {
	for name, numbers := range map[string][]int{"in step": {0, 0, 1, 1}, "one is faster": {4, 1, 5, 2}} {
		var log []string
		for i, n := range numbers {
			log = append(log, fmt.Sprintf("[%d.000s][info][gc] GC(%d) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", i+1, n))
		}
		all := join(lines(log...))
		if last := all.runs[len(all.runs)-1]; !last.Mixed || last.Number != 1 || len(all.stops) != 4 {
			t.Errorf("%s: the runs are %+v, with %d stops; want the last run with Mixed true and Number 1, and 4 stops", name, all.runs, len(all.stops))
		}
	}
	for name, numbers := range map[string][]int{"one inside of the other": {1, 0, 2, 3}, "some are missing": {3, 9, 12, 50}} {
		var log []string
		for i, n := range numbers {
			log = append(log, fmt.Sprintf("[%d.000s][info][gc] GC(%d) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", i+1, n))
		}
		if all := join(lines(log...)); len(all.runs) != 1 || all.runs[0].Mixed {
			t.Errorf("%s: the runs are %+v, want 1 with Mixed false", name, all.runs)
		}
	}
}

// Two JVMs that write in turn look like a JVM that restarts at each line.
func TestTwoJVMsInOneFileAreSeenByTheirUptimes(t *testing.T) {
	var log []string
	for i := range 10 {
		for _, started := range []int{10, 30} {
			log = append(log, fmt.Sprintf(`[%d.%d00s][safepoint] Safepoint "Cleanup", Reaching safepoint: 1 ns, At safepoint: 5 ns, Total: 6 ns`, started, i))
		}
	}
	all := join(lines(log...))
	if last := all.runs[len(all.runs)-1]; !last.Mixed || len(all.stops) != len(log) {
		t.Errorf("the runs are %+v, %d stops; want Mixed true in the last run, and %d stops", all.runs, len(all.stops), len(log))
	}
}

// The JVM logs its start and one collection and then runs out of memory. By chance, the uptimes increase from run to run.
func TestAJVMThatDiesAfterOneCollectionIsOne(t *testing.T) {
	var log []string
	for i := range 12 {
		log = append(log, "[0.005s][gc] Using Serial", fmt.Sprintf("[20.%03ds][gc] GC(0) Pause Young (Allocation Failure) 9M->8M(34M) 1.000ms", i))
	}
	all := join(lines(log...))
	if last := all.runs[len(all.runs)-1]; last.Mixed || last.Number != 12 {
		t.Errorf("the runs are %+v, want the last with Mixed false and Number 12", all.runs)
	}
}

// Each run lasts longer than the run before and begins at the same uptime.
func TestAJVMThatCrashesAgainAndAgainIsOne(t *testing.T) {
	var log []string
	for run := range 10 {
		for i := range 4 + run {
			log = append(log, fmt.Sprintf(`[%d.000s][safepoint] Safepoint "Cleanup", Reaching safepoint: 1 ns, At safepoint: 5 ns, Total: 6 ns`, 1+5*i))
		}
	}
	all := join(lines(log...))
	if len(all.runs) != 10 || all.runs[9].Mixed {
		t.Errorf("the runs are %+v, want 10, the last with Mixed false", all.runs)
	}
}

func TestTwoJVMsInOneFileWithoutUptimes(t *testing.T) {
	for name, test := range map[string]struct {
		numbers []int
		mixed   bool
	}{
		"in step":                              {[]int{0, 0, 1, 1, 2, 2}, true},
		"one is ahead":                         {[]int{10, 3, 11, 4}, true},
		"one is far ahead":                     {[]int{500, 0, 501, 1}, true},
		"one after the other":                  {[]int{20, 21, 0, 1, 2}, false},
		"one inside of the other":              {[]int{1, 0, 2, 3}, false},
		"some are missing":                     {[]int{3, 9, 12, 50}, false},
		"a restart after the second":           {[]int{0, 1, 0, 1, 2, 3, 4}, false}, // without a line about the start
		"a restart whose beginning is missing": {[]int{20, 21, 22, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}, false},
	} {
		var log []string
		for _, n := range test.numbers {
			log = append(log, fmt.Sprintf("[info][gc] GC(%d) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", n))
		}
		all := join(lines(log...))
		if last := all.runs[len(all.runs)-1]; last.Mixed != test.mixed || len(all.stops) != len(test.numbers) {
			t.Errorf("%s: the runs are %+v, %d stops; want Mixed %v in the last run, and %d stops",
				name, all.runs, len(all.stops), test.mixed, len(test.numbers))
		}
	}
}

// From a JVM of JDK 25 with -Xlog:gc,safepoint on a disk that was frozen for 2.5 s: the JVM waited to
// write the pause's line, after the time that the line measures.
func TestAWaitBesideThePauseIsSuspected(t *testing.T) {
	for _, test := range []struct {
		at    string
		floor Floor
		want  Suspicion
	}{
		{"2547112539", 0, Outside}, {"3112539", 0, NoSuspicion},
		{"2547112539", Floor(2 * time.Second), Outside}, {"2547112539", Floor(3 * time.Second), NoSuspicion}, {"6112539", Floor(3 * time.Millisecond), Outside},
	} {
		all := join(lines(
			"[1.000s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.748ms",
			`[3.500s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: `+test.at+` ns, Leaving safepoint: 9 ns, Total: `+test.at+` ns`))
		if len(all.stops) != 1 || len(all.stops[0].Pauses) != 1 || all.stops[0].Suspect(test.floor) != test.want || all.stops[0].WentOn(test.floor) != (test.want == Outside) {
			t.Errorf("at %s, floor %s: the stops are %+v, want 1 with 1 pause, Suspect %v and WentOn %v",
				test.at, test.floor.Duration(), all.stops, test.want, test.want == Outside)
		}
	}
}

// The JVM logs CPU times in hundredths of a second. The first pause is from a JVM of JDK 17.
func TestAPauseShorterThanTheFloorIsNotSuspectedForItsRoundedTime(t *testing.T) {
	for _, test := range []struct {
		length, real string
		floor        Floor
		want         Suspicion
	}{
		{"91.812", "0.10", 0, NoSuspicion},
		{"97.204", "0.10", 0, NoSuspicion},
		{"100.001", "0.10", 0, Idle},
		{"91.812", "0.10", Floor(90 * time.Millisecond), Idle},
		{"2.748", "0.10", 0, NoSuspicion}, // Real=0.10s may be as little as 90 ms
		{"2.748", "0.11", 0, Idle},        // at least 100 ms were a wait to write the line of the pause
		{"6.000", "0.00", Floor(5 * time.Millisecond), NoSuspicion},
	} {
		all := join(lines(
			"[1.000s][info][gc    ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) "+test.length+"ms",
			"[1.000s][info][gc,cpu] GC(3) User=0.00s Sys=0.01s Real="+test.real+"s"))
		if len(all.stops) != 1 || all.stops[0].Suspect(test.floor) != test.want {
			t.Errorf("a pause of %s ms, real %s s, floor %s: the stops are %+v, want one with Suspect %v", test.length, test.real, test.floor.Duration(), all.stops, test.want)
		}
	}
}

// The time of a heap dump after its collection is work, not a stall. From a JVM of JDK 17, except for the durations.
func TestAnOperationThatCollectsFirstIsNoWait(t *testing.T) {
	all := join(lines(
		"[1.000s][info][gc] GC(3) Pause Full (Heap Dump Initiated GC) 24M->5M(64M) 12.748ms",
		`[3.500s][info][safepoint] Safepoint "HeapDumper", Time since last: 5 ns, Reaching safepoint: 9000 ns, Cleanup: 9 ns, At safepoint: 2547112539 ns, Total: 2547121548 ns`))
	if len(all.stops) != 1 {
		t.Fatalf("the stops are %+v, want one", all.stops)
	}
	if s := all.stops[0]; len(s.Pauses) != 1 || s.Suspect(0) != Operation || s.WentOn(0) || s.Suspect(Floor(time.Minute)) != NoSuspicion {
		t.Errorf("the stops are %+v, want 1 with 1 pause, Suspect %v (%v with a floor of 1m) and WentOn false", all.stops, Operation, NoSuspicion)
	}
}

func TestASafepointOfACollectionWithoutItsPauses(t *testing.T) {
	for operation, want := range map[string]bool{"ZMarkEndYoung": true, "G1CollectForAllocation": true, "ThreadDump": false} {
		all := join(lines(`[3.500s][info][safepoint] Safepoint "` + operation + `", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 9 ns, Total: 9009 ns`))
		if len(all.stops) != 1 || all.stops[0].Unpaired() != want {
			t.Errorf("%s: the stops are %+v, want 1 with Unpaired %v", operation, all.stops, want)
		}
	}
}

func lines(text ...string) (lines [][]byte) {
	for _, line := range text {
		lines = append(lines, []byte(line))
	}
	return lines
}

// Once the names are known, a Joiner allocates nothing, not even for collections.
func TestJoiningAllocatesNothing(t *testing.T) {
	for _, name := range []string{"debug-g1-jdk17.log", "debug-g1-jdk25.log", "g1-jdk25.log", "parallel-jdk17.log"} {
		var log [][]byte
		for _, line := range sample(t, name) {
			if e, _ := Parse(line); e.Kind != Init {
				log = append(log, line)
			}
		}
		j := NewJoiner(Handlers{Pause: func(*GCPause) {}, Stop: func(*Stop) {}, Collection: func(*Collection) {}})
		all := func() {
			for _, line := range log {
				j.Line(line, ul.Class{})
			}
		}
		if n := testing.AllocsPerRun(10, all); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// A line of unknown class is always read.
func TestALineAtTraceIsNoEvent(t *testing.T) {
	const line = "[1.234s][trace][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.345ms"
	var class ul.Classifier
	if e, ok := NewJoiner(Handlers{}).Line([]byte(line), class.Classify([]byte(line))); ok {
		t.Errorf("the line is read as %+v, want no event", e)
	}
	if _, ok := NewJoiner(Handlers{}).Line([]byte(line), ul.Class{}); !ok {
		t.Error("a line of unknown class is not read as an event, want it read")
	}
}
