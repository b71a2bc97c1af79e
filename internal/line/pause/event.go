package pause

import "time"

// Kind is the kind of an [Event]. The zero value is not a kind.
type Kind uint8

// The kinds of events.
const (
	Pause      Kind = iota + 1 // the collector stopped the world
	Safepoint                  // the VM stopped the world, for the collector or another operation
	CPU                        // the CPU time of the event in the preceding line, usually a pause
	Concurrent                 // a phase or cycle has ended during which the application ran
	Begin                      // a cycle begins; Name has its cause, if there is one
	Cycle                      // a cycle of ZGC, or its part in one generation, has ended
	Stall                      // one thread waited for memory, or for an object to be moved
	Space                      // a part of the heap, before and after a collection
	Metaspace                  // the metaspace, before and after a collection
	Workers                    // how many threads the collector uses
	Failure                    // there was no room to which objects could be moved or, without a GC number, no room for a thread's request
	Enter                      // the VM begins to stop the world (JDK 9 to 12)
	Init                       // a property that the JVM logs at its start
	Phase                      // an outermost part of a pause
	Cancel                     // Shenandoah gives up a concurrent collection, or turns a degenerated one into a full one
)

var kindNames = [...]string{"none", "pause", "safepoint", "cpu", "concurrent", "begin", "cycle", "stall", "space", "metaspace", "workers", "failure", "enter", "init", "phase", "cancel"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "none"
}

// Event is the content of one line. No duration is negative, and each is below
// 10^18 ns (31 years). The zero value is not an event.
type Event struct {
	Kind Kind

	// GC is the number of the collection, from "GC(n)", at least 0. Two pauses of one concurrent
	// collection have the same number. It is -1 if the line has no number: for Safepoint, Enter,
	// Stall and Init, for a Failure or Cancel that a thread of the application logs with
	// Shenandoah, and for each line of a JDK 8 log.
	GC int64

	// Old and Young say which generation a line of ZGC names.
	Old, Young bool

	// Name depends on the kind: "Young (Normal) (G1 Evacuation Pause)" for a Pause, the VM
	// operation ("G1CollectForAllocation") for a Safepoint and Enter, "Mark Cycle" for a
	// Concurrent, "Major Collection (Proactive)" for a Cycle and its Begin, the thread for a
	// Stall, "Evacuate Collection Set" for a Phase, "Old regions" or "DefNew" for a Space, "Heap
	// Region Size" for Init, and the cause for a Cancel. It is nil for CPU, Metaspace and Workers,
	// and for a Safepoint of JDK 9 to 12, which has no name. Otherwise it is 1 to 128 bytes of
	// printable ASCII (for a Stall, 0 to 128 bytes of any kind: a thread's name may be empty). It
	// is a part of the parsed line or, for JDK 8, the name that later releases use. It is valid
	// until the line changes or the next line is read, and must not be written to. Anyone who can
	// write to the log can invent names, so names must not become metric labels: see
	// [Event.Action], [Event.Cause] and [Event.Operation].
	Name []byte

	// Value is the value of an Init, 1 to 256 bytes of printable ASCII. It is valid as long as
	// Name is.
	Value []byte

	// Duration is the length of a Pause, Concurrent, Stall or Cycle (0 if the JVM prints
	// none), the total of a Safepoint, and the real time of CPU.
	Duration time.Duration

	// For Safepoint only: the parts of its total. JDK 17 prints no Leaving, and JDK 25 no Cleanup;
	// a missing part is 0. JDK 9 to 12 print only Reaching; At then has the rest.
	Reaching time.Duration // until all threads have stopped
	Cleanup  time.Duration // before the operation
	At       time.Duration // during the operation
	Leaving  time.Duration // until the threads resume

	// For CPU. HotSpot prints hundredths of a second. User and Sys are sums over all threads of
	// the process, so they can exceed Real. A Pause or Concurrent of JDK 8 may have the times in
	// its own line. Timed is set for such an event and for each CPU.
	User, Sys, Real time.Duration
	Timed           bool

	// Heap has the sizes in the line of a Pause, Concurrent, Cycle, Space or Metaspace.
	// Heap.Known is false if the line has none.
	Heap Heap

	// Regions means that the Heap of a Space counts regions, not bytes.
	Regions bool

	// Relocation means that the thread of a Stall waited for ZGC to move an object, not for
	// memory.
	Relocation bool

	// Count is the number of threads. It is set for Workers only.
	Count int
}

// Heap is the use of the heap, or of a part of it, before and after a collection, and its
// size, in bytes. HotSpot rounds the sizes of the heap down to MiB, and the sizes of its
// parts to KiB. The zero value means that nothing is known.
type Heap struct {
	Before, After int64
	Capacity      int64 // after the collection; 0: the line does not show it
	Known         bool
}

// Stalled reports whether the event has CPU times of a pause that seems to have
// waited for something other than a CPU, such as a disk: its real time is at least
// the floor and at least twice the sum of its user and system time. A JVM that was
// throttled, stopped or swapped out looks the same, and so does a concurrent phase
// of CMS, which waits on purpose. Stalled returns false for other kinds of events.
func (e *Event) Stalled(floor Floor) bool {
	return (e.Kind == CPU || e.Kind == Pause && e.Timed) && e.Real >= floor.Duration() && e.Real >= 2*(e.User+e.Sys)
}
