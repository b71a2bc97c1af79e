package ul

import (
	"testing"
	"time"
)

func TestARunBeginsWhereUptimeFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		ups  []time.Duration // in milliseconds
		runs []int
	}{
		"one JVM":                                {[]time.Duration{1, 5, 5, 900}, []int{1, 1, 1, 1}},
		"threads log in another order":           {[]time.Duration{60000, 59500, 60001, 31000}, []int{1, 1, 1, 1}},
		"a young JVM steps back a little":        {[]time.Duration{90, 3, 91}, []int{1, 1, 1}},
		"a restart":                              {[]time.Duration{60000, 4, 300}, []int{1, 2, 2}},
		"a restart of a JVM that hardly ran":     {[]time.Duration{150, 4, 160, 5}, []int{1, 2, 2, 3}},
		"a later JVM whose first lines are lost": {[]time.Duration{240000, 150000, 151000}, []int{1, 2, 2}},
	} {
		var r Runs
		if r.Number() != 0 {
			t.Errorf("%s: the number is %d before the first uptime, want 0", name, r.Number())
		}
		for i, up := range c.ups {
			was := r.Number()
			begins := r.Next(up * time.Millisecond)
			if r.Number() != c.runs[i] || begins != (was != r.Number()) {
				t.Errorf("%s: record %d is in run %d, want %d (begins: %v)", name, i, r.Number(), c.runs[i], begins)
			}
		}
	}
}
