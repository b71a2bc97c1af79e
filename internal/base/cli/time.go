package cli

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
)

// The forms of a time on a command line. A fraction of a second may follow the seconds.
var (
	zonedTimes = []string{
		time.RFC3339,
		"2006-01-02T15:04:05Z0700", // as HotSpot's unified logging writes it
		"2006-01-02T15:04Z07:00",
	}
	localTimes = []string{
		"2006-01-02",
		"2006-01-02T15:04",
		"2006-01-02T15:04:05",
	}
	clockTimes = []string{
		"15:04",
		"15:04:05",
	}
	errTime = errors.New("write it like 10m, 16:45, 2026-11-20, 2026-11-20T16:45 or 2026-11-20T16:45:11+01:00")
)

// TimeVar declares a flag whose value [Time] reads.
func TimeVar(fs *flag.FlagSet, p *time.Time, name string, now time.Time, usage string) {
	fs.Func(name, usage, func(text string) (err error) {
		*p, err = Time(text, now)
		return err
	})
}

// NoteFuture warns if since is in the future: after a mistake in the zone or the year, the
// log would look empty.
func (e Env) NoteFuture(name string, since, now time.Time) {
	if since.After(now) {
		fmt.Fprintf(e.Stderr, "%s %s: warning: %s is in the future: no line can be that recent\n",
			e.Program, name, since.In(now.Location()).Format(time.RFC3339))
	}
}

// Time reads a duration before now, or a time. A time without a zone is in the zone of now.
func Time(text string, now time.Time) (time.Time, error) {
	if d, err := settings.ParseDuration(text); err == nil {
		if d < 0 {
			return time.Time{}, errors.New("a duration is a time before now, so it must not be negative")
		}
		return now.Add(-d), nil
	}
	for _, layout := range zonedTimes {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if t, ok := LocalTime(text, now); ok {
		return t, nil
	}
	return time.Time{}, errTime
}

// LocalTime reads a time without a zone, in the zone of now: a day, a day and a time, or only a time
// of day, which means the last moment up to now at which the clock showed it.
func LocalTime(text string, now time.Time) (time.Time, bool) {
	for _, layout := range localTimes {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, true
		}
	}
	for _, layout := range clockTimes {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		year, month, day := now.Date()
		at := func(day int) time.Time {
			return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
		}
		if today := at(day); !today.After(now) {
			return today, true
		}
		return at(day - 1), true
	}
	return time.Time{}, false
}
