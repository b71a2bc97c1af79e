package tail

import (
	"math"
	"testing"
)

func TestDescriptorsAreDividedWithinTheLimit(t *testing.T) {
	for _, c := range []struct {
		limit           uint64
		files, segments int
	}{
		{0, 1, 1}, {32, 1, 1}, {64, 24, 8}, {1024, 744, 248}, {4096, 3048, 1016},
		{65536, maxFiles, mostSegments}, {math.MaxUint64, maxFiles, mostSegments},
	} {
		files, segments := divide(c.limit)
		if files != c.files || segments != c.segments {
			t.Errorf("of %d: %d files and %d segments, want %d and %d", c.limit, files, segments, c.files, c.segments)
		}
	}
}
