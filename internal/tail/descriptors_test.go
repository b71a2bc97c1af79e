package tail

import (
	"math"
	"testing"

	"github.com/ullage/ullage/internal/admin"
)

func TestDescriptorsAreDividedWithinTheLimit(t *testing.T) {
	for _, c := range []struct {
		limit           uint64
		files, segments int
	}{
		{0, 1, 1}, {64, 1, 1}, {96, 24, 8}, {1024, 720, 240}, {4096, 3024, 1008},
		{65536, maxFiles, mostSegments}, {math.MaxUint64, maxFiles, mostSegments},
	} {
		files, segments := divide(c.limit)
		if files != c.files || segments != c.segments {
			t.Errorf("of %d: %d files and %d segments, want %d and %d", c.limit, files, segments, c.files, c.segments)
		}
	}
}

func TestStrangersOnTheAdminPortHaveTheirOwnDescriptors(t *testing.T) {
	if rest := spareDescriptors - admin.MaxConns; rest < 32 {
		t.Errorf("%d descriptors are left for directories and the like beside %d connections, want 32", rest, admin.MaxConns)
	}
}
