package jvm

import "testing"

// A comparison that overlooks something would make every other test worthless.
func TestCompare(t *testing.T) {
	const (
		a  = "[2026-11-20T16:45:11.123+0100][0.1s][11][info ][gc] one\n"
		b  = "[2026-11-20T16:45:11.123+0100][0.1s][12][info ][gc] two\n"
		b2 = "[2026-11-20T16:45:11.123+0100][0.1s][12][info ][gc     ] two\n" // padded otherwise
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
