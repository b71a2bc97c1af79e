package insight

import (
	"testing"
	"time"
)

// The lines of a JVM that restarts at once may be read before the end of the previous run is
// noticed.
func TestTheLastHeapIsThatOfTheJVMThatRan(t *testing.T) {
	r := newRig(t)
	r.read("gc.log", "[0.001s][info][gc] Using Serial", "[0.002s][info][gc,init] Heap Max Capacity: 64M",
		"[1.000s][info][gc] GC(0) Pause Young (Allocation Failure) 24M->20M(32M) 1.000ms")
	r.settle()
	ran := r.time
	if got, want := r.Heap("gc.log", ran), (Heap{Used: 20 << 20, Capacity: 32 << 20, Max: 64 << 20}); got != want {
		t.Errorf("after a young collection: %+v, want %+v", got, want)
	}
	r.read("gc.log", "[2.000s][info][gc] GC(1) Pause Full (Allocation Failure) 64M->63M(64M) 1.000ms")
	r.settle()
	ended := Heap{Used: 63 << 20, Capacity: 64 << 20, Max: 64 << 20, Whole: true}
	if got := r.Heap("gc.log", ran); got != ended {
		t.Errorf("after a full collection: %+v, want %+v", got, ended)
	}
	r.time = r.time.Add(time.Second)
	r.read("gc.log", "[0.001s][info][gc] Using Serial", "[1.000s][info][gc] GC(0) Pause Young (Allocation Failure) 9M->5M(32M) 1.000ms")
	r.settle()
	if got := r.Heap("gc.log", ran); got != ended {
		t.Errorf("after a restart: %+v, want %+v", got, ended)
	}
	if got := r.Heap("gc.log", r.time); got.Used != 5<<20 {
		t.Errorf("for the JVM that runs now: %+v, want Used 5 MiB", got)
	}
	if got := r.Heap("other.log", ran); got != (Heap{}) {
		t.Errorf("for a stream that does not exist: %+v, want none", got)
	}
}
