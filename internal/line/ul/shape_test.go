package ul

import "testing"

// TestEachByteOfATimeCounts puts each byte at each place of a time.
func TestEachByteOfATimeCounts(t *testing.T) {
	const good = "2026-11-20T10:49:00.123+0189"
	for i := range len(good) {
		for c := range 256 {
			text := []byte(good)
			text[i] = byte(c)
			want := byte(c) == good[i]
			switch good[i] {
			case '-', 'T', ':', '.':
			case '+':
				want = c == '+' || c == '-'
			default:
				want = isDigit(byte(c))
			}
			if got := isTime(text); got != want {
				t.Errorf("isTime(%q) is %v, want %v", text, got, want)
			}
		}
	}
	if isTime([]byte(good[1:])) || isTime([]byte(good+"0")) || isTime(nil) {
		t.Error("isTime accepts a text of another length, want it refused")
	}
}
