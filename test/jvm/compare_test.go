package jvm

import (
	"testing"
	"time"
)

// A comparison that overlooks something would make every other test worthless.
func TestCompare(t *testing.T) {
	const (
		a  = "[2026-11-20T16:45:11.123+0100][0.1s][11][info ][gc] one\n"
		b  = "[2026-11-20T16:45:11.123+0100][0.1s][12][info ][gc] two\n"
		b2 = "[2026-11-20T16:45:11.123+0100][0.1s][12][info ][gc     ] two\n" // with other padding
		m  = "[2026-11-20T16:45:11.124+0100][0.1s][11][info ][gc] three\n more of it\n"
	)
	for name, tc := range map[string]struct {
		written, persisted string
		want               Comparison
	}{
		"identical":                 {a + b, a + b, Comparison{Written: 2, Persisted: 2, Identical: true}},
		"threads in another order":  {a + b + m, b + a + m, Comparison{Written: 4, Persisted: 4}},
		"another padding":           {a + b, a + b2, Comparison{Written: 2, Persisted: 2}},
		"one missing":               {a + b, a, Comparison{Written: 2, Persisted: 1, Missing: 1}},
		"one of two alike missing":  {a + a, a, Comparison{Written: 2, Persisted: 1, Missing: 1}},
		"one twice":                 {a + b, a + b + b, Comparison{Written: 2, Persisted: 3, Twice: 1}},
		"one twice, one missing":    {a + b, a + a, Comparison{Written: 2, Persisted: 2, Twice: 1, Missing: 1}},
		"never written":             {a, a + b, Comparison{Written: 1, Persisted: 2, Foreign: 1}},
		"one thread, another order": {a + m, m + a, Comparison{Written: 3, Persisted: 3, Moved: 3}},
		"continuation moved":        {m + a, " more of it\n" + m[:len(m)-len(" more of it\n")] + a, Comparison{Written: 3, Persisted: 3, Moved: 2}},
		"torn":                      {a, a[:20] + "\n" + a[20:], Comparison{Written: 1, Persisted: 2, Missing: 1, Foreign: 2}},
		"nothing":                   {a, "", Comparison{Written: 1, Missing: 1}},
	} {
		got := Compare([]byte(tc.written), []byte(tc.persisted))
		wrong := got.First != ""
		got.First = ""
		if got != tc.want || wrong == got.Same() {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// HotSpot may repeat a message while it changes an output's level. That is not an error, but every other repeat is.
func TestCompareWhereALevelChanged(t *testing.T) {
	const (
		a = "[2026-11-20T16:45:11.123+0100][0.1s][11][info ][gc] one\n"
		b = "[2026-11-20T16:45:11.123+0100][0.1s][12][info ][gc] two\n"
		m = "[2026-11-20T16:45:11.124+0100][0.1s][11][info ][gc] three\n more of it\n"
	)
	changed, err := time.Parse(time.RFC3339, "2026-11-20T16:45:11+01:00")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		written, persisted string
		changes            []time.Time
		want               Comparison
	}{
		"repeated":                       {a + b, a + a + b, []time.Time{changed}, Comparison{Written: 2, Persisted: 3, Repeated: 1}},
		"another thread in between":      {a + b, a + b + a, []time.Time{changed}, Comparison{Written: 2, Persisted: 3, Repeated: 1}},
		"with its continuation":          {a + m, a + m + m, []time.Time{changed}, Comparison{Written: 3, Persisted: 5, Repeated: 2}},
		"the second of two changes":      {a, a + a, []time.Time{changed.Add(-time.Hour), changed}, Comparison{Written: 1, Persisted: 2, Repeated: 1}},
		"written twice to both":          {a + a, a + a, []time.Time{changed}, Comparison{Written: 2, Persisted: 2, Identical: true}},
		"written twice to both, b moved": {a + a + b, b + a + a, []time.Time{changed}, Comparison{Written: 3, Persisted: 3}},
		"no change":                      {a + b, a + a + b, nil, Comparison{Written: 2, Persisted: 3, Twice: 1}},
		"long before":                    {a + b, a + a + b, []time.Time{changed.Add(2 * time.Second)}, Comparison{Written: 2, Persisted: 3, Twice: 1}},
		"long after":                     {a + b, a + a + b, []time.Time{changed.Add(-2 * time.Second)}, Comparison{Written: 2, Persisted: 3, Twice: 1}},
		"not at once":                    {a + m, a + m + a, []time.Time{changed}, Comparison{Written: 3, Persisted: 4, Twice: 1}},
		"three times":                    {a, a + a + a, []time.Time{changed}, Comparison{Written: 1, Persisted: 3, Twice: 1, Repeated: 1}},
		"repeated, and one missing":      {a + b, a + a, []time.Time{changed}, Comparison{Written: 2, Persisted: 2, Missing: 1, Repeated: 1}},
		"its continuation alone":         {m, m + " more of it\n", []time.Time{changed}, Comparison{Written: 2, Persisted: 3, Twice: 1}},
	} {
		got := Compare([]byte(tc.written), []byte(tc.persisted), tc.changes...)
		got.First = ""
		if got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
