package main

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
)

// The sidecar shows its last pauses again at each look, and the clock of the machine may be set back between two looks.
func TestEachStopIsCountedOnceWhateverTheClockShows(t *testing.T) {
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(seconds int, lasted float64) admin.Pause {
		return admin.Pause{At: noon.Add(time.Duration(seconds) * time.Second), Stream: "gc.log", Seconds: lasted}
	}
	all := []admin.Pause{at(1, .1), at(2, .2), at(2, .3), at(-3600, .4), at(-3599, .5), at(2, .6)}
	var s stops
	for _, look := range [][2]int{{0, 0}, {0, 2}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {4, 6}, {5, 6}} { // the sidecar forgets the oldest
		s.add(all[look[0]:look[1]])
	}
	if s.n != len(all) || s.longest != .6 {
		t.Errorf("%d stops, the longest of %g s, want %d and 0.6 s", s.n, s.longest, len(all))
	}
}
