package tail

import (
	"time"

	"golang.org/x/sys/unix"
)

// restFromScan puts off the next scan after one that began at a time, and at a
// CPU time of the thread. Only work counts: on a busy machine a thread can wait
// 25 ms for a processor in the middle of a scan, and after a rest of four times
// that a JVM that rotates small files would have overwritten an archive unseen.
func (s *Source) restFromScan(began time.Time, cpu time.Duration) {
	end := s.now()
	// Another thread may have ended the scan, whose CPU time says nothing.
	work := max(0, min(end.Sub(began), threadCPU()-cpu))
	s.scanAfter = end.Add(scanRest * work)
}

// threadCPU returns the CPU time of the calling thread so far.
func threadCPU() time.Duration {
	var ts unix.Timespec
	// It fails only for a clock that is none.
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}
