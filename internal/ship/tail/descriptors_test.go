package tail

import (
	"math"
	"testing"

	"github.com/ullage/ullage/internal/ship/source"
)

func TestDescriptorsAreDividedWithinTheLimit(t *testing.T) {
	for _, c := range []struct {
		limit                        uint64
		files, segments, connections int
	}{
		{0, 1, 1, 2}, {32, 1, 1, 2}, {64, 18, 6, 4}, {1024, 672, 224, 32}, {2048, 1440, 480, 32},
		{65536, source.MaxFiles, mostSegments, 32}, {math.MaxUint64, source.MaxFiles, mostSegments, 32},
	} {
		files, segments := divide(c.limit)
		if got := connections(c.limit); files != c.files || segments != c.segments || got != c.connections {
			t.Errorf("with a limit of %d: %d files, %d segments and %d connections, want %d, %d and %d", c.limit, files, segments, got, c.files, c.segments, c.connections)
		}
		if c.limit >= 64 && uint64(files+segments+connections(c.limit)+forRings(c.limit)+spareDescriptors) > c.limit && c.limit < 65536 {
			t.Errorf("with a limit of %d: more descriptors are handed out than the limit allows", c.limit)
		}
	}
}
