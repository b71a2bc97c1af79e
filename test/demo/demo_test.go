package main

import (
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
)

func TestWhatIsWrongFailsTheDemo(t *testing.T) {
	at := time.Date(2026, 11, 20, 16, 45, 11, 0, time.UTC)
	raised := raise{shipped: at, lines: 1, restored: at, last: at}
	for name, tc := range map[string]struct {
		result result
		bad    bool
	}{
		"all is well":      {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5}, raise: raised}, false},
		"dropped, counted": {result{Comparison: jvm.Comparison{Written: 5, Persisted: 3, Missing: 2}, raise: raised, dropped: 2}, false},
		"never raised":     {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5}}, true},
		"never restored":   {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5}, raise: raise{shipped: at, lines: 1}}, true},
		"restored in word": {result{Comparison: jvm.Comparison{Written: 5, Persisted: 5}, raise: raise{shipped: at, lines: 1, restored: at, last: at.Add(time.Minute)}}, true},
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
