package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In TestAFileOfARotatedSetThatIsMissing, gc.log.1 was not copied.
func TestAFileOfARotatedSetThatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"gc.log.0", "gc.log.1", "gc.log"} {
		var log strings.Builder
		for j := range 6 {
			log.WriteString(young(6*i+j, float64(6*i+j+1), 2))
		}
		put(t, dir, name, log.String())
	}
	if r := reportOn(t, Config{}, dir); !r.Complete || r.Totals.Stops != 18 {
		t.Fatalf("the problems are %+v, want Complete true and Stops 18", r.Problems)
	}
	if err := os.Remove(filepath.Join(dir, "gc.log.1")); err != nil {
		t.Fatal(err)
	}
	if r := reportOn(t, Config{}, dir); lacks(r, "skipped") != 6 || r.Complete || len(r.Runs) != 1 {
		t.Errorf("without gc.log.1, the problems are %+v, the runs %+v; want 6 skipped, an incomplete report and 1 run", r.Problems, r.Runs)
	}
}
