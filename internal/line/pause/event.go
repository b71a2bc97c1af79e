package pause

import "time"

// Kind is what an [Event] is about. The zero value is not a kind.
type Kind uint8

// The kinds of events.
const (
	Pause      Kind = iota + 1 // the collector stopped the world
	Safepoint                  // the VM stopped the world, for the collector or for anything else
	CPU                        // the CPU time of the preceding line's event, mostly a pause
	Concurrent                 // the collector worked while the application ran, and has ended a phase or a cycle
	Begin                      // a cycle begins; Name has its cause, if it has one
	Cycle                      // a cycle of ZGC, or one generation's part of it, has ended
	Stall                      // one thread waited for memory, or for an object to be moved
	Space                      // a part of the heap, before and after a collection
	Metaspace                  // the metaspace, before and after a collection
	Workers                    // how many threads the collector uses
	Failure                    // there was no room to move objects to or, without a number, for a thread's request
	Enter                      // the VM begins to stop the world (JDK 9 to 12)
	Init                       // a property of the JVM, which it logs at its start
	Phase                      // a part of a pause, the outermost that the JVM logs
	Cancel                     // Shenandoah gives up a concurrent collection, or a degenerated one for a full one
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

	// GC is the number of the collection, from "GC(n)", at least 0. Two pauses
	// of one concurrent collection share the number. It is -1 where the line has
	// none: for Safepoint, Enter, Stall and Init, for a Failure and a Cancel that
	// Shenandoah logs by a thread of the application, and in the log of JDK 8.
	GC int64

	// Old and Young report the generation that a line of ZGC names.
	Old, Young bool

	// Name is what paused: "Young (Normal) (G1 Evacuation Pause)" for a Pause,
	// the VM operation ("G1CollectForAllocation") for a Safepoint and Enter, "Mark Cycle"
	// for a Concurrent, "Major Collection (Proactive)" for a Cycle and its Begin, the
	// thread for a Stall, "Evacuate Collection Set" for a Phase, "Old regions" or "DefNew" for a Space, "Heap Region Size" for
	// Init, the cause for a Cancel. It is nil for CPU, Metaspace and Workers, and for a Safepoint of JDK 9 to 12,
	// which do not print it there. Otherwise it is 1 to 128 bytes of printable ASCII (of a
	// Stall, 0 to 128 bytes of anything: a thread's name may be empty), a part of the parsed line, or of JDK 8 what later releases
	// call it: valid as long as the line is and until the next one is read, and not to be written to. Anyone who can write to the log can invent names, so names
	// must not become metric labels: see [Event.Action], [Event.Cause] and
	// [Event.Operation].
	Name []byte

	// Value is the value of an Init, 1 to 256 bytes of printable ASCII, as Name is.
	Value []byte

	// Duration is the length of a Pause, a Concurrent, a Stall and of a Cycle (0 where
	// the JVM prints none), the total of a Safepoint, and the real time of CPU.
	Duration time.Duration

	// For Safepoint only: the parts of its total. JDK 17 prints no Leaving, and
	// JDK 25 no Cleanup; a missing part is 0. JDK 9 to 12 print Reaching alone,
	// and At is the rest.
	Reaching time.Duration // until all threads have stopped
	Cleanup  time.Duration // before the operation
	At       time.Duration // during the operation
	Leaving  time.Duration // until the threads resume

	// For CPU. HotSpot prints hundredths of a second. User and Sys add up
	// all threads of the process, so they can exceed Real.
	// A Pause or a Concurrent of JDK 8 may have them in its own line: then it is Timed, as each
	// CPU is.
	User, Sys, Real time.Duration
	Timed           bool

	// Heap has the sizes that the line of a Pause, Concurrent, Cycle, Space or Metaspace
	// shows. Heap.Known is false where it shows none.
	Heap Heap

	// Regions reports that the Heap of a Space counts regions and not bytes.
	Regions bool

	// Relocation reports that the thread of a Stall waited for ZGC to move an object, and
	// not for memory.
	Relocation bool

	// Count is the number of threads, for Workers.
	Count int
}

// Heap is the use of the heap, or of a part of it, before and after a collection, and
// its size, in bytes. HotSpot rounds sizes of the heap down to MiB, those of its parts
// to KiB. The zero value is that nothing is known.
type Heap struct {
	Before, After int64
	Capacity      int64 // after the collection; 0: the line does not show it
	Known         bool
}

// Stalled reports whether the event has CPU times of a pause that seems to
// have waited for something other than a CPU, such as a disk: its real time is
// at least the floor and at least twice its user and system time together. A
// JVM that was throttled, stopped or swapped out looks the same, and so does a
// concurrent phase of CMS, which waits on purpose. It returns false for every
// other kind.
func (e *Event) Stalled(floor Floor) bool {
	return (e.Kind == CPU || e.Kind == Pause && e.Timed) && e.Real >= floor.Duration() && e.Real >= 2*(e.User+e.Sys)
}
