package main

import (
	"errors"
	"time"
)

// The forms of a time that --since, --until and --around accept. A fraction of a second may follow
// the seconds.
var (
	zonedTimes = []string{
		time.RFC3339,
		"2006-01-02T15:04:05Z0700", // as UL writes it
		"2006-01-02T15:04Z07:00",
	}
	localTimes = []string{
		"2006-01-02",
		"2006-01-02T15:04",
		"2006-01-02T15:04:05",
	}
	errTime = errors.New("write it like 10m, 2026-11-20, 2026-11-20T16:45 or 2026-11-20T16:45:11+01:00")
)

// parseTime reads a duration before now, or a time.
func parseTime(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 {
			return time.Time{}, errors.New("a duration is one before now, so it must not be negative")
		}
		return now.Add(-d), nil
	}
	for _, layout := range zonedTimes {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range localTimes {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errTime
}
