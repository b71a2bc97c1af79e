package cli

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 20, 17, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"10m":                          now.Add(-10 * time.Minute),
		"1h30m":                        now.Add(-90 * time.Minute),
		"0s":                           now,
		"7d":                           now.Add(-168 * time.Hour),
		"2026-11-20T16:45:11Z":         time.Date(2026, 11, 20, 16, 45, 11, 0, time.UTC),
		"2026-11-20T16:45:11.5+02:00":  time.Date(2026, 11, 20, 14, 45, 11, 5e8, time.UTC),
		"2026-11-20T16:45:11.123+0100": time.Date(2026, 11, 20, 15, 45, 11, 123e6, time.UTC),
		"2026-11-20":                   time.Date(2026, 11, 20, 0, 0, 0, 0, zone),
		"2026-11-20T16:45":             time.Date(2026, 11, 20, 16, 45, 0, 0, zone),
		"2026-11-20T16:45:11":          time.Date(2026, 11, 20, 16, 45, 11, 0, zone),
		"16:45":                        time.Date(2026, 11, 20, 16, 45, 0, 0, zone),
		"16:45:11.5":                   time.Date(2026, 11, 20, 16, 45, 11, 5e8, zone),
		"17:00":                        now,
		"17:00:01":                     time.Date(2026, 11, 19, 17, 0, 1, 0, zone),
		"23:59":                        time.Date(2026, 11, 19, 23, 59, 0, 0, zone),
	} {
		if got, err := Time(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-10m", "-7d", "yesterday", "10", "2026-13-01", "24:00", "16:60", "1645"} {
		if got, err := Time(text, now); err == nil {
			t.Errorf("%q is parsed as %v, want an error", text, got)
		}
	}
}
