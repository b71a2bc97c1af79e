package tail

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/source"
)

const (
	spareDescriptors = 32   // for everything except source files, segments, connections and rings: directories, sockets, files that are open briefly
	mostSegments     = 1024 // open at once
	mostConnections  = 32
	mostForRings     = 64 // see package ring
)

// Descriptors divides the descriptors of the process (RLIMIT_NOFILE, which Go has
// raised to its hard limit). It returns how many source files and how many segments
// may be open. Both are at least 1, and neither can take descriptors that the other needs.
func Descriptors() (files, segments int) { return divide(descriptorLimit()) }

// Connections returns how many connections from clients may be open at once: 32, or fewer
// if the process has fewer than 512 descriptors. Descriptors leaves room for them.
func Connections() int { return connections(descriptorLimit()) }

func descriptorLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Cur
}

func connections(limit uint64) int { return int(max(2, min(limit/16, mostConnections))) }

// forRings returns how many descriptors are reserved for the rings of events.
func forRings(limit uint64) int { return int(min(limit/16, mostForRings)) }

func divide(limit uint64) (files, segments int) {
	// If there is no limit, limit is the largest uint64, so it is bounded before it becomes an int.
	rest := int(min(limit, source.MaxFiles+4*mostSegments)) - spareDescriptors - connections(limit) - forRings(limit)
	segments = max(1, min(rest/4, mostSegments))
	return max(1, min(rest-segments, source.MaxFiles)), segments
}
