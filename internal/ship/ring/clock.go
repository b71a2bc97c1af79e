package ring

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// If the difference between the wall clock and the monotonic clock changes by at least this much, the
	// wall clock was set. Slewing by NTP does not change the difference, since both clocks are slewed.
	leastStep = int64(20 * time.Millisecond)

	// mostBetween bounds the time between two readings of one clock. The other clock is read between
	// these two readings.
	mostBetween = int64(time.Millisecond)
)

// wallAhead returns by how many nanoseconds the wall clock is ahead of CLOCK_MONOTONIC, which is what
// System.nanoTime() of a JVM on this machine reads. It returns 0 if it was interrupted too often to measure that.
func wallAhead() int64 {
	for range 4 {
		var before, wall, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil || unix.ClockGettime(unix.CLOCK_REALTIME, &wall) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return 0
		}
		if took := after.Nano() - before.Nano(); took <= mostBetween {
			return wall.Nano() - before.Nano() - took/2
		}
	}
	return 0
}

// anchor shifts the dates of this and later entries by the amount by which the wall clock was set since the
// last look. Suspending the machine looks the same, because its monotonic clock stops. The entry records the
// shift, so that another process renders the same lines.
func (e *entry) anchor(ahead int64) {
	if ahead == 0 {
		return
	}
	if by := ahead - e.clock; e.clock != 0 {
		if by > -leastStep && by < leastStep {
			return
		}
		e.shift += by
	}
	e.clock = ahead
}
