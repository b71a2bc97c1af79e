package tail

import "golang.org/x/sys/unix"

const (
	spareDescriptors = 64   // for all else: 32 for the connections of the admin HTTP, and for directories, sockets, a file in passing
	mostSegments     = 1024 // open at once
)

// Descriptors divides what the process may open (RLIMIT_NOFILE, which Go has
// raised as far as it may): how many source files are held open at most, and
// how many segments may be. Both are at least 1, and neither can take what the
// other needs.
func Descriptors() (files, segments int) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return divide(1024)
	}
	return divide(limit.Cur)
}

func divide(limit uint64) (files, segments int) {
	// Bounded first, since there may be no limit, which is the largest number.
	rest := int(min(limit, maxFiles+4*mostSegments)) - spareDescriptors
	segments = max(1, min(rest/4, mostSegments))
	return max(1, min(rest-segments, maxFiles)), segments
}
