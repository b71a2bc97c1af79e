package pause

import "time"

// Kind says what an [Event] measured. The zero value is none of the kinds.
type Kind uint8

// The kinds of events.
const (
	Pause     Kind = iota + 1 // the collector stopped the world
	Safepoint                 // the VM stopped the world, for the collector or for anything else
	CPU                       // what CPU time a pause took
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

// StallReal is the least real time of a pause that [Event.Stalled] reports.
const StallReal = 100 * time.Millisecond

// Event is what one line reports. No duration is negative, and each is below
// 10^18 ns (31 years). The zero value is no event.
type Event struct {
	Kind Kind

	// GC is the number of the collection, from "GC(n)", at least 0. Two pauses
	// of one concurrent collection share it. A Safepoint has none: -1.
	GC int64

	// Name is what paused: "Young (Normal) (G1 Evacuation Pause)" of a Pause,
	// the VM operation ("G1CollectForAllocation") of a Safepoint, nil for CPU and
	// for a Safepoint of JDK 9 to 12, which do not say it there.
	// Else it is 1 to 128 bytes of printable ASCII, a part of the line that was
	// parsed: valid as long as the line is, and not to be written to. Whoever
	// can write to the log can invent names, so they are no metric labels.
	Name []byte

	// Duration is how long a Pause took, the total of a Safepoint, and the real
	// time of CPU.
	Duration time.Duration

	// For Safepoint only: the parts of its total. JDK 17 prints no Leaving, JDK 25
	// no Cleanup; what is not printed is 0. JDK 9 to 12 print Reaching alone, and At
	// is the rest.
	Reaching time.Duration // until all threads had stopped
	Cleanup  time.Duration // before the operation
	At       time.Duration // of the operation
	Leaving  time.Duration // until the threads were let go

	// For CPU only. HotSpot prints hundredths of a second. User and Sys add up
	// all threads of the process, so that they can be more than Real.
	User, Sys, Real time.Duration
}

// Stalled reports whether the event is a CPU event of a pause that seems to have
// waited for something other than a CPU, such as a disk: its real time is at
// least [StallReal] and at least twice its user and system time together. A JVM
// that was throttled, stopped or swapped out looks the same, and so does a
// concurrent phase of CMS, which waits on purpose. It is false for every other
// kind.
func (e Event) Stalled() bool {
	return e.Kind == CPU && e.Real >= StallReal && e.Real >= 2*(e.User+e.Sys)
}
