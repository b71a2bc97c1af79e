package pause

import "time"

// Kind is what an [Event] measured. The zero value is not a kind.
type Kind uint8

// The kinds of events.
const (
	Pause     Kind = iota + 1 // the collector stopped the world
	Safepoint                 // the VM stopped the world, for the collector or for anything else
	CPU                       // the CPU time of a pause
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Pause:
		return "pause"
	case Safepoint:
		return "safepoint"
	case CPU:
		return "cpu"
	}
	return "none"
}

// StallReal is the shortest real time of a pause that [Event.Stalled] reports.
const StallReal = 100 * time.Millisecond

// Event is the content of one line. No duration is negative, and each is below
// 10^18 ns (31 years). The zero value is not an event.
type Event struct {
	Kind Kind

	// GC is the number of the collection, from "GC(n)", at least 0. Two pauses
	// of one concurrent collection share the number. A Safepoint has -1.
	GC int64

	// Name is what paused: "Young (Normal) (G1 Evacuation Pause)" for a Pause,
	// the VM operation ("G1CollectForAllocation") for a Safepoint. It is nil
	// for CPU, and for a Safepoint of JDK 9 to 12, which do not print it there.
	// Otherwise it is 1 to 128 bytes of printable ASCII, a part of the parsed
	// line: valid as long as the line is, and not to be written to. Anyone who
	// can write to the log can invent names, so names must not become metric
	// labels.
	Name []byte

	// Duration is the length of a Pause, the total of a Safepoint, and the real
	// time of CPU.
	Duration time.Duration

	// For Safepoint only: the parts of its total. JDK 17 prints no Leaving, and
	// JDK 25 no Cleanup; a missing part is 0. JDK 9 to 12 print Reaching alone,
	// and At is the rest.
	Reaching time.Duration // until all threads have stopped
	Cleanup  time.Duration // before the operation
	At       time.Duration // during the operation
	Leaving  time.Duration // until the threads resume

	// For CPU only. HotSpot prints hundredths of a second. User and Sys add up
	// all threads of the process, so they can exceed Real.
	User, Sys, Real time.Duration
}

// Stalled reports whether the event is a CPU event of a pause that seems to
// have waited for something other than a CPU, such as a disk: its real time is
// at least [StallReal] and at least twice its user and system time together. A
// JVM that was throttled, stopped or swapped out looks the same, and so does a
// concurrent phase of CMS, which waits on purpose. It returns false for every
// other kind.
func (e Event) Stalled() bool {
	return e.Kind == CPU && e.Real >= StallReal && e.Real >= 2*(e.User+e.Sys)
}
