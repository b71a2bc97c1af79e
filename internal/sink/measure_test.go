package sink

import (
	"testing"
	"time"
)

// With thousands of old streams, measure takes long. It is then called less often while lines arrive.
func TestALongMeasureIsRepeatedLater(t *testing.T) {
	began := time.Now()
	for _, c := range []struct {
		took, after time.Duration
		moved, want bool
	}{
		{time.Millisecond, time.Second, true, true},
		{time.Millisecond, time.Second, false, false},
		{time.Millisecond, measureInterval, false, true},
		{100 * time.Millisecond, time.Second, true, false},
		{100 * time.Millisecond, 5 * time.Second, true, true},
		{time.Minute, measureInterval, true, true}, // the disk was frozen
	} {
		if got := (measured{began, c.took}).due(began.Add(c.after), c.moved); got != c.want {
			t.Errorf("measure took %s, and %s later, with moved cursors %t, it is due: %t, want %t", c.took, c.after, c.moved, got, c.want)
		}
	}
}
