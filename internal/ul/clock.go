package ul

import (
	"math"
	"time"
)

// When returns the wall-clock time of the record in UTC, from the first of
// Time, UTCTime and TimeMillis that it has. It returns false if the record has
// none of these, or the first one is not a date.
func (r *Record) When() (time.Time, bool) {
	switch {
	case r.Present&Time != 0:
		return parseTime(r.Time)
	case r.Present&UTCTime != 0:
		return parseTime(r.UTCTime)
	case r.Present&TimeMillis != 0:
		ms, ok := parseUint(r.TimeMillis[:len(r.TimeMillis)-2])
		if ok {
			return time.UnixMilli(int64(ms)).UTC(), true
		}
	}
	return time.Time{}, false
}

// Since returns the time from the start of the JVM to the record, from the
// first of UptimeNanos (unless that is ambiguous), Uptime and UptimeMillis that
// it has. It returns false if the record has none of these, or a value beyond a
// [time.Duration].
func (r *Record) Since() (time.Duration, bool) {
	switch {
	case r.Present&^r.Ambiguous&UptimeNanos != 0:
		return parseDuration(r.UptimeNanos[:len(r.UptimeNanos)-2], time.Nanosecond)
	case r.Present&Uptime != 0:
		return parseSeconds(r.Uptime)
	case r.Present&UptimeMillis != 0:
		return parseDuration(r.UptimeMillis[:len(r.UptimeMillis)-2], time.Millisecond)
	}
	return 0, false
}

// parseTime reads a text in the shape of a time.
func parseTime(text []byte) (time.Time, bool) {
	n := func(from, to int) int {
		v, _ := parseUint(text[from:to])
		return int(v)
	}
	year, month, day := n(0, 4), time.Month(n(5, 7)), n(8, 10)
	hour, minute, second, ms := n(11, 13), n(14, 16), n(17, 19), n(20, 23)
	zone := time.Duration(n(24, 26))*time.Hour + time.Duration(n(26, 28))*time.Minute
	if text[23] == '-' {
		zone = -zone
	}
	t := time.Date(year, month, day, hour, minute, second, ms*int(time.Millisecond), time.UTC)
	// Date carries a value that is out of range into the next unit, so that
	// unit differs.
	if t.Month() != month || t.Day() != day || t.Hour() != hour || t.Minute() != minute {
		return time.Time{}, false
	}
	return t.Add(-zone), true
}

// parseSeconds reads a text in the shape of an uptime: 0.397s or 0,397s.
func parseSeconds(text []byte) (time.Duration, bool) {
	point := digits(text, 0)
	whole, ok := parseDuration(text[:point], time.Second)
	unit := time.Second
	for _, c := range text[point+1 : len(text)-1] {
		unit /= 10
		part := time.Duration(c-'0') * unit
		if whole > math.MaxInt64-part {
			return 0, false
		}
		whole += part
	}
	return whole, ok
}

func parseDuration(digits []byte, unit time.Duration) (time.Duration, bool) {
	n, ok := parseUint(digits)
	if !ok || n > uint64(math.MaxInt64/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
