package pause

import "time"

// Suspicion is a reason why a [Stop] may have been longer than its work. The zero value
// means that there is none.
type Suspicion uint8

// The suspicions. The time to which a suspicion refers must be at least the [Floor]. The
// comments become a table in docs/stalls.md.
const (
	NoSuspicion Suspicion = iota

	// Its collections took at least twice their CPU time, so no thread ran for half of the time
	// (Serial, Parallel, G1: `gc+cpu`).
	Idle

	// Its collections took at least four times the CPU time of each of their workers, and the
	// kernel's counters show a culprit (without it, the work of a single thread looks the same).
	Uneven

	// An operation of the VM took that long, such as a heap dump.
	Operation

	// It took that long before or after its collections: the JVM writes the line of a pause after
	// it has measured the pause, and may then wait for the disk.
	Outside

	// The threads took that long to stop.
	Reaching
)

var suspicionNames = [...]string{"none", "idle", "uneven", "operation", "outside", "reaching"}

// String returns the suspicion in lower case.
func (s Suspicion) String() string {
	if int(s) < len(suspicionNames) {
		return suspicionNames[s]
	}
	return suspicionNames[0]
}

// tick is the unit of a pause's [Times].
const tick = 10 * time.Millisecond

// Suspect returns the strongest suspicion about a pause from its times. A pause shorter than the
// floor has none. The line of the pause shows its exact length, without the wait to write that line.
// The real time in Times includes that wait, but it may be too long by up to a tick.
func (p *GCPause) Suspect(floor Floor) Suspicion {
	t := &p.Times
	cpu := t.User + t.Sys
	took := max(p.Duration, t.Real-tick)
	switch {
	case !t.Known || t.Real < floor.Duration() || took < floor.Duration():
		return NoSuspicion
	case t.Real >= 2*cpu:
		return Idle
	case p.Workers > 1 && t.Real >= 4*cpu/time.Duration(p.Workers):
		return Uneven
	}
	return NoSuspicion
}

// Outside returns how long a safepoint lasted before and after the collections in it. It is 0
// for a safepoint without collections, because the log may lack them. HotSpot's length of a
// pause does not include the time to log the pause, but includes the time to log its phases.
func (s *Stop) Outside() time.Duration {
	if !s.Safepoint || len(s.Pauses) == 0 {
		return 0
	}
	rest := s.At
	for i := range s.Pauses {
		rest -= s.Pauses[i].Duration
	}
	return max(0, rest)
}

// Suspect returns the strongest suspicion about the stop.
func (s *Stop) Suspect(floor Floor) Suspicion {
	worst := NoSuspicion
	for i := range s.Pauses {
		if p := s.Pauses[i].Suspect(floor); p == Idle {
			return Idle
		} else if p > worst {
			worst = p
		}
	}
	switch {
	case s.Reaching >= floor.Duration():
		return Reaching
	case s.WentOn(floor):
		return Outside
	case worst != NoSuspicion:
		return worst
	case s.Outside() >= floor.Duration():
		return Operation
	case s.Safepoint && len(s.Pauses) == 0 && s.At >= floor.Duration() && !isCollection(s.Operation):
		return Operation
	}
	return NoSuspicion
}

// WentOn reports whether a collection's safepoint lasted for at least the floor outside of its
// pauses ([Stop.Outside]). It is false for an operation that collects first and then does its own
// work, such as a heap dump. WentOn is true for each stop with the suspicion [Outside], and may be
// true for a stop with the suspicion [Reaching].
func (s *Stop) WentOn(floor Floor) bool {
	return s.Outside() >= floor.Duration() && !collects(s.Operation)
}

// Unpaired reports whether a safepoint's operation is a collection and the log has none of its
// pauses.
func (s *Stop) Unpaired() bool { return s.Safepoint && len(s.Pauses) == 0 && isCollection(s.Operation) }
