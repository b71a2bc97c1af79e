package tail

import (
	"testing"
	"time"
)

// A scan that had to wait for a processor does not postpone the next one.
func TestWaitingForAProcessorIsNoReasonToRest(t *testing.T) {
	r := newRig(t)
	r.put("a.log", "x\n")
	still := r.src.env.now
	r.src.env.now = func() time.Time { r.now = r.now.Add(100 * time.Millisecond); return r.now }
	r.read()
	r.src.env.now = still
	r.now = r.now.Add(200 * time.Millisecond)
	r.put("b.log", "x\n")
	r.src.listing.stale = true
	if found, err := r.src.Scanner.Scan(); found != 1 || err != nil {
		t.Errorf("200 ms after a scan, %d new files are found, want 1; error: %v", found, err)
	}
}
