package check

import (
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// Two streams of three segments each: the number of bytes read grows to the total size.
func TestProgressGrowsToTheSizeOfTheCopy(t *testing.T) {
	c := newCopied(t, segment.None, 1)
	for _, name := range []string{"a.log", "b.log"} {
		s := c.stream(name)
		for range 3 {
			c.commit(s, "[1.000s][info][gc] GC(1) a line\n")
		}
	}
	var reports []int64
	total := int64(0)
	results, _ := c.check(Config{Progress: func(done, of int64) {
		reports, total = append(reports, done), of
	}})
	bytes := results.streams[0].Bytes + results.streams[1].Bytes
	if total != bytes || len(reports) == 0 || reports[len(reports)-1] != bytes {
		t.Fatalf("reports %d of %d, want the last to be %d", reports, total, bytes)
	}
	for i, done := range reports {
		if i > 0 && done <= reports[i-1] {
			t.Errorf("the reports are %d, want each one greater than the one before", reports)
		}
	}
	if segments := results.streams[0].Segments; segments != 3 {
		t.Errorf("%d segments a stream, want 3", segments)
	}
}
