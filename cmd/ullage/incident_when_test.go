package main

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
)

func TestTheStopThatAnArchiveIsAbout(t *testing.T) {
	begun := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	stop := func(second int, seconds float64, verdict string) admin.Pause {
		return admin.Pause{At: begun.Add(time.Duration(second) * time.Second), Seconds: seconds, Verdict: verdict}
	}
	long := ask.Trigger{Pause: time.Second}
	for name, c := range map[string]struct {
		pauses []admin.Pause
		when   ask.Trigger
		want   int // seconds after the beginning; 0: none
	}{
		"none":      {nil, long, 0},
		"too short": {[]admin.Pause{stop(1, 1, "")}, long, 0},
		"before":    {[]admin.Pause{stop(-1, 2, ""), stop(0, 2, "")}, long, 0},
		"long":      {[]admin.Pause{stop(-1, 2, ""), stop(1, 0.5, ""), stop(2, 1.5, ""), stop(3, 9, "")}, long, 2},
	} {
		got := 0
		if p := firstMet(c.pauses, c.when, begun); p != nil {
			got = int(p.At.Sub(begun).Seconds())
		}
		if got != c.want {
			t.Errorf("%s: firstMet returned the stop %d s after the beginning, want the one at %d s (0: none)", name, got, c.want)
		}
	}
}
