package main

import (
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
)

func TestPausesAreReadFromEveryForm(t *testing.T) {
	const text = `[2026-11-20T16:45:11.123+0100][0.4s][11][info ][gc          ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 20M->5M(64M) 1.234ms
[2026-11-20T16:45:11.123+0100][0.4s][11][info ][gc,start    ] GC(4) Pause Young (Normal) (G1 Evacuation Pause)
[2026-11-20T16:45:11.123+0100][0.4s][11][info ][gc,phases   ] GC(4) y: Pause Mark Start 2.500ms
[2026-11-20T16:45:11.123+0100][0.4s][11][info ][gc          ] GC(5) Concurrent Mark Cycle 99.000ms
[2026-11-20T16:45:11.123+0100][0.4s][11][info ][safepoint   ] Safepoint "G1CollectForAllocation", Time since last: 809935 ns, Reaching safepoint: 8644 ns, At safepoint: 1614535 ns, Total: 1626062 ns
[2026-11-20T16:45:11.123+0100][0.4s][11][info ][safepoint   ] Safepoint "ICBufferFull", Time since last: 1 ns, Reaching safepoint: 8644 ns, At safepoint: 5 ns, Leaving safepoint: 2883 ns, Total: 11532 ns, Threads: 0 runnable, 10 total
`
	want := pauses{collections: 2, safepoints: 2, longestCollection: 2500 * time.Microsecond, longestSafepoint: 1626062}
	if got := pausesIn([]byte(text)); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWhatIsWrongFailsTheDemo(t *testing.T) {
	for name, tc := range map[string]struct {
		result result
		bad    bool
	}{
		"all is well":      {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5}}, false},
		"dropped, counted": {result{Comparison: jvm.Comparison{Written: 5, Persisted: 3, Missing: 2}, dropped: 2}, false},
		"lost":             {result{Comparison: jvm.Comparison{Written: 5, Persisted: 3, Missing: 2}, dropped: 1}, true},
		"counted too much": {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5}, dropped: 1}, true},
		"twice":            {result{Comparison: jvm.Comparison{Written: 5, Persisted: 6, Twice: 1}}, true},
		"never written":    {result{Comparison: jvm.Comparison{Written: 5, Persisted: 6, Foreign: 1}}, true},
		"out of order":     {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5, Moved: 2}}, true},
		"nothing at all":   {result{}, true},
	} {
		if err := tc.result.err(); (err != nil) != tc.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
