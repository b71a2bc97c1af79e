package pause

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFailuresAndWhatIsGivenUp(t *testing.T) {
	for line, want := range map[string]Event{
		"[0.376s][info ][gc             ] Failed to allocate Shared, 403K":                                     {Kind: Failure, GC: -1, Name: []byte("Shared")},
		"[0.231s][info ][gc] Failed to allocate TLAB, 256K":                                                    {Kind: Failure, GC: -1, Name: []byte("TLAB")},
		"[0.376s][info ][gc             ] Cancelling GC: Allocation Failure":                                   {Kind: Cancel, GC: -1, Name: []byte("Allocation Failure")},
		"[0.118s][info ][gc,thread      ] Cancelling GC: unknown GCCause":                                      {Kind: Cancel, GC: -1, Name: []byte("unknown GCCause")},
		"[0.728s][info ][gc             ] GC(137) Cancelling GC: Upgrade To Full GC":                           {Kind: Cancel, GC: 137, Name: []byte("Upgrade To Full GC")},
		"[0.125s][info ][gc             ] GC(10) Degenerated GC upgrading to Full GC":                          {Kind: Cancel, GC: 10, Name: []byte("Degenerated GC upgrading to Full GC")},
		"[1.040s][info ][gc             ] GC(219) Cannot finish degeneration, upgrading to Full GC":            {Kind: Cancel, GC: 219, Name: []byte("Cannot finish degeneration, upgrading to Full GC")},
		"[0.1s][debug][gc] GC(7) Concurrent mode failure":                                                      {Kind: Failure, GC: 7, Name: []byte("mode failure")},
		"[0.085s][info ][gc,metaspace   ] GC(0) Metaspace: 0M used, 0M committed, 1088M reserved":              {Kind: Metaspace, Heap: Heap{Known: true}},
		"[0.598s][info ][gc,metaspace   ] GC(3) O: Metaspace: 12M used, 13M committed, 1088M reserved":         {Kind: Metaspace, GC: 3, Old: true, Heap: Heap{After: 12 << 20, Capacity: 13 << 20, Known: true}},
		"[0.598s][info ][gc,metaspace   ] GC(3) y: Metaspace: 72057594037M used, 1M committed, 99M reserved":   {},
		"[0.598s][info ][gc,metaspace   ] GC(3) Metaspace: 1M used, 1M committed, 1M reserved, 1M more":        {},
		"[0.598s][info ][gc,metaspace   ] GC(3) Metaspace: 1M used, 1M committed":                              {},
		"[0.598s][info ][gc,metaspace   ] GC(3) Metaspace: 1K used, 1M committed, 1M reserved":                 {},
		"[0.1s][debug][gc] GC(7) Concurrent mode interrupted":                                                  {}, // by System.gc(): not a failure
		"[0.1s][debug][gc] Concurrent mode failure":                                                            {},
		"[0.1s][info ][gc] Failed to allocate 512B for evacuation":                                             {}, // it also cancels the collection
		"[0.1s][info ][gc] Failed to allocate Shared, K":                                                       {},
		"[0.1s][info ][gc] Failed to allocate Shared, 403":                                                     {},
		"[0.1s][info ][gc] Failed to allocate Shared, 403K ":                                                   {},
		"[0.1s][info ][gc] Failed to allocate , 403K":                                                          {},
		"[0.1s][info ][gc] GC(1) Failed to allocate Shared, 403K":                                              {},
		"[0.1s][info ][web] Failed to allocate Shared, 403K":                                                   {},
		"[0.1s][info ][gc] Cancelling GC: ":                                                                    {},
		"[0.1s][info ][gc] Cancelling GC: Allocation Fa[0.2s][info][gc] GC(7) Pause Remark 5M->5M(8M) 1.234ms": {},
	} {
		e, ok := Parse([]byte(line))
		if diff := cmp.Diff(want, e); diff != "" || ok != (want.Kind != 0) {
			t.Errorf("%s: parsed: %v, want %v; the event (-want +got):\n%s", line, ok, want.Kind != 0, diff)
		}
	}
	if e, ok := Parse([]byte("[0.1s][info][gc,init] CPUs: 2 total, 2 available")); !ok || e.Kind != Init {
		t.Errorf("a property whose name begins like a Cancel: %+v, want an Init", e)
	}
}

// From a log of JDK 17.0.15: the pause of a degenerated collection does not give its cause, and may contain a full
// collection.
func TestWhyACollectionOfShenandoahDegenerated(t *testing.T) {
	all := join(lines(
		"[0.376s][info ][gc             ] Failed to allocate Shared, 403K",
		"[0.376s][info ][gc             ] Cancelling GC: Allocation Failure",
		"[0.377s][info ][gc             ] Trigger: Handle Allocation Failure",
		"[0.377s][info ][gc,task        ] GC(11) Using 1 of 1 workers for stw degenerated gc",
		"[0.380s][info ][gc             ] GC(11) Pause Degenerated GC (Outside of Cycle) 42M->38M(64M) 2.768ms",
		`[0.380s][info ][safepoint      ] Safepoint "ShenandoahDegeneratedGC", Time since last: 1699906 ns, Reaching safepoint: 2264 ns, Cleanup: 2714 ns, At safepoint: 2776396 ns, Total: 2781374 ns`,
		"[0.380s][info ][gc             ] Failed to allocate Shared, 395K",
		"[0.380s][info ][gc             ] Cancelling GC: Allocation Failure",
		"[0.389s][info ][gc             ] GC(12) Pause Full 42M->38M(64M) 7.444ms",
		"[0.728s][info ][gc             ] GC(137) Cancelling GC: Upgrade To Full GC",
		"[0.730s][info ][gc             ] GC(137) Pause Degenerated GC (Outside of Cycle) 44M->44M(64M) 3.795ms",
		"[1.040s][info ][gc             ] GC(219) Cancelling GC: Allocation Failure During Evacuation",
		"[1.040s][info ][gc             ] GC(219) Cannot finish degeneration, upgrading to Full GC",
		"[1.042s][info ][gc             ] GC(219) Pause Degenerated GC (Outside of Cycle) 45M->45M(64M) 3.249ms"))
	if len(all.collections) != 4 || len(all.stops) != 4 {
		t.Fatalf("the collections are %+v, the stops %+v, want 4 of each", all.collections, all.stops)
	}
	for i, want := range []struct {
		cause string
		marks Marks
	}{{"Allocation Failure", Degenerated}, {"Allocation Failure", Full}, {None, Degenerated | Full}, {None, Degenerated | Full | EvacuationFailure}} {
		c := all.collections[i]
		if c.Collector != Shenandoah || c.Cause != want.cause || c.Pauses[0].Cause != want.cause || c.Marks != want.marks {
			t.Errorf("%d: %+v, want %+v", i, c, want)
		}
	}
}

// From a log of JDK 25.0.3, where a thread of the application logs what happened to a
// collection, in a line without a number.
func TestACollectionOfShenandoahThatAnotherThreadGivesUp(t *testing.T) {
	all := join(lines(
		"[0.090s][info ][gc             ] Using Shenandoah",
		"[0.120s][info ][gc,thread      ] Cancelling GC: unknown GCCause",
		"[0.120s][info ][gc             ] Failed to allocate Shared, 266K",
		"[0.120s][info ][gc,task        ] GC(10) Using 1 of 1 workers for stw degenerated gc",
		"[0.125s][info ][gc             ] GC(10) Degenerated GC upgrading to Full GC",
		"[0.125s][info ][gc,thread      ] Cancelling GC: Upgrade To Full GC",
		"[0.131s][info ][gc             ] GC(10) Pause Degenerated GC (Outside of Cycle) 41M->40M(64M) 10.656ms",
		"[0.200s][info ][gc             ] GC(11) Pause Init Mark 0.027ms",
		"[0.205s][info ][gc,thread      ] Cancelling GC: Allocation Failure During Evacuation",
		"[0.210s][info ][gc             ] GC(12) Pause Full 41M->40M(64M) 10.656ms"))
	if len(all.collections) != 3 {
		t.Fatalf("the collections are %+v, want 3", all.collections)
	}
	causes := map[int64]string{}
	for _, c := range all.collections {
		if want := map[int64]Marks{10: Degenerated | Full, 11: EvacuationFailure | Cut, 12: Full}[c.GC]; c.Marks != want {
			t.Errorf("the marks are %+v, want %v", c, want)
		}
		causes[c.GC] = c.Cause
	}
	if a, b := causes[10], causes[12]; a != "Allocation Failure" || b != None {
		t.Errorf("causes %q and %q, want %q and %q", a, b, "Allocation Failure", None)
	}
}

// If no collection is running, nothing is given up.
func TestNothingIsGivenUp(t *testing.T) {
	all := join(lines("Cancelling GC: Allocation Failure During Evacuation", "Cancelling GC: Stopping VM", "Failed to allocate Shared, 1K",
		"[1.0s][info][gc] Using G1", "[1.1s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.345ms"))
	if len(all.collections) != 1 || all.collections[0].Marks != 0 || all.collections[0].Cause != "G1 Evacuation Pause" {
		t.Errorf(`the collections are %+v, want 1 with Marks 0 and Cause "G1 Evacuation Pause"`, all.collections)
	}
}

// Written by hand: the message, its level debug and its tag gc are from
// CMSCollector::report_concurrent_mode_interruption in concurrentMarkSweepGeneration.cpp of
// JDK 11 and 13 (github.com/openjdk/jdk13u-dev at d9d210bdd0ed). All messages with the tag gc
// begin with the number of their collection.
func TestConcurrentModeFailureOfCMS(t *testing.T) {
	all := join(lines(
		"[0.010s][info ][gc] Using Concurrent Mark Sweep",
		"[1.000s][info ][gc,start] GC(3) Pause Full (Allocation Failure)",
		"[1.000s][debug][gc] GC(3) Concurrent mode failure",
		"[1.300s][info ][gc,phases] GC(3) Phase 1: Mark live objects 100.000ms",
		"[1.500s][info ][gc] GC(3) Pause Full (Allocation Failure) 60M->40M(64M) 500.000ms",
		"[1.500s][info ][gc,cpu] GC(3) User=0.50s Sys=0.00s Real=0.50s"))
	if len(all.collections) != 1 || all.collections[0].Marks != Full|EvacuationFailure || all.timed != 1 {
		t.Errorf("the collections are %+v, %d CPU times of pauses; want 1 with the marks %v, and 1 CPU time",
			all.collections, all.timed, Full|EvacuationFailure)
	}
}
