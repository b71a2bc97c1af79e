package settings

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0":       0,
		"500ms":   500 * time.Millisecond,
		"1.5h":    90 * time.Minute,
		"-10s":    -10 * time.Second,
		"7d":      168 * time.Hour,
		"0d":      0,
		"1d12h":   36 * time.Hour,
		"2d1h30m": 49*time.Hour + 30*time.Minute,
		"106750d": 106750 * day,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "+1d", "1.5d", "1d-12h", "1d+12h", "1d24h", "1h1d", "7D", "7 d", "1dd", "106751d", "99999999999d", "10"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %s, want an error", text, got)
		}
	}
}
