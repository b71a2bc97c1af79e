package tail

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A JVM writes while there are more archives than may be held. They are read in turns, whatever
// their numbers are. No archive was overwritten, so none is missed.
func TestArchivesThatWaitAreNotMissed(t *testing.T) {
	for _, mode := range []Mode{ReclaimAuto, ReclaimNone} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Reclaim = mode })
			r.src.Capacity.maxHeld = 4
			const archives = 10
			for n := range archives {
				r.put(fmt.Sprintf("gc.log.%d", n), fmt.Sprintf("line %d\n", n))
			}
			r.writer("gc.log")
			for range 4 * archives {
				r.read()
				r.commit()
			}
			if got := len(r.text()); got != archives*len("line 0\n") {
				t.Fatalf("%d bytes were read, want those of all lines", got)
			}
			missed := func() float64 { return testutil.ToFloat64(r.src.env.metrics.missedFiles) }
			if got := missed(); got != 0 {
				t.Errorf("%v archives are counted as missed, want 0: all were read", got)
			}
			// No archive waits any more, so a gap in the numbers is counted again.
			r.src.Capacity.maxHeld = 2 * archives
			for _, n := range []int{archives, archives + 1, archives + 3} {
				r.put(fmt.Sprintf("gc.log.%d", n), "more\n")
				r.read()
			}
			if got := missed(); got != 1 {
				t.Errorf("%v archives are counted as missed, want 1", got)
			}
		})
	}
}
