package tail

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the CPU time of the calling thread so far.
func threadCPU() time.Duration {
	var ts unix.Timespec
	// It fails only if the clock is unknown.
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}
