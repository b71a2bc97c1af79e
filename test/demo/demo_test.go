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
		"JVM wrote twice":  {result{Comparison: jvm.Comparison{Written: 5, Persisted: 6, Repeated: 1}, raise: raised}, false},
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
			t.Errorf("%s: error %v, want an error: %t", name, err, tc.bad)
		}
	}
}

// The demo knows when its raise began and ended. A repeated line at these times is due to the JVM and is counted; a
// repeated line at another time fails the demo.
func TestARepeatIsTheJVMsOnlyWhereItsLevelChanged(t *testing.T) {
	line := func(at, level, text string) string {
		return "[2026-11-20T16:45:" + at + "+0000][0.1s][11][" + level + "][gc] " + text + "\n"
	}
	before, trace, after := line("11.900", "debug", "one"), line("12.000", "trace", "raised"), line("15.100", "debug", "two")
	later := line("18.000", "debug", "three")
	for name, tc := range map[string]struct {
		persisted string
		repeated  int
		bad       bool
	}{
		"none":           {before + trace + after + later, 0, false},
		"at the raise":   {before + before + trace + after + later, 1, false},
		"at the restore": {before + trace + after + after + later, 1, false},
		"at both":        {before + before + trace + after + after + later, 2, false},
		"elsewhere":      {before + trace + after + later + later, 0, true},
	} {
		at := time.Date(2026, 11, 20, 16, 45, 15, 0, time.UTC)
		r := raise{shipped: at, restored: at}
		rest := r.without([]byte(tc.persisted))
		got := result{Comparison: jvm.Compare([]byte(before+after+later), rest, r.changes()...), raise: r}
		if err := got.err(); (err != nil) != tc.bad || got.Repeated != tc.repeated {
			t.Errorf("%s: %d repeated, error %v; want %d repeated, and an error: %t", name, got.Repeated, err, tc.repeated, tc.bad)
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
