package retry

import (
	"testing"
	"time"
)

func TestALineIsAllowedOnceAMinuteWithTheNumberOfThoseThatWereNot(t *testing.T) {
	var l Limiter
	now := time.Now()
	if skipped, ok := l.Take(now); !ok || skipped != 0 {
		t.Fatalf("the first line: allowed %v, %d skipped, want true, 0", ok, skipped)
	}
	for second := range 59 {
		if l.Allow(now.Add(time.Duration(second+1) * time.Second)) {
			t.Fatalf("a line is allowed again after %d s, want none within a minute", second+1)
		}
	}
	if skipped, ok := l.Take(now.Add(time.Minute)); !ok || skipped != 59 {
		t.Errorf("after a minute: allowed %v, %d skipped, want true, 59", ok, skipped)
	}
	if skipped, ok := l.Take(now.Add(2 * time.Minute)); !ok || skipped != 0 {
		t.Errorf("after another minute: allowed %v, %d skipped, want true, 0", ok, skipped)
	}
}
