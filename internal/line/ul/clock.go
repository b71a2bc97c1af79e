package ul

import (
	"math"
	"time"
)

// MaxUptime bounds the uptimes that readers accept. Dusk, the end of 2199 in Unix seconds,
// bounds the dates. With these bounds, the sum of a date and an uptime does not overflow in
// nanoseconds.
const (
	MaxUptime = 50 * 366 * 24 * time.Hour
	Dusk      = 7_258_118_400
)

// Believed reports whether a date is plausible: after the beginning of 1970 and before Dusk.
func Believed(when time.Time) bool { return when.Unix() > 0 && when.Unix() < Dusk }

// When returns the wall-clock time of the record in UTC, from the first of Time,
// UTCTime and TimeMillis that the record has. It returns false if the record has
// none of these, or if the first is not a date.
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

// Since returns the time from the start of the JVM to the record, from the first
// of UptimeNanos (unless that is ambiguous), Uptime and UptimeMillis that the
// record has. It returns false if the record has none of these, or if the value is
// too large for a [time.Duration].
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

// parseTime parses a text that has timeShape.
func parseTime(text []byte) (time.Time, bool) {
	n := func(at int) int { return 10*int(text[at]-'0') + int(text[at+1]-'0') }
	year, month, day := 100*n(0)+n(2), time.Month(n(5)), n(8)
	hour, minute, second, ms := n(11), n(14), n(17), 10*n(20)+int(text[22]-'0')
	zone := time.Duration(n(24))*time.Hour + time.Duration(n(26))*time.Minute
	if text[23] == '-' {
		zone = -zone
	}
	if hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, month, day, hour, minute, second, ms*int(time.Millisecond), time.UTC)
	// time.Date carries a day that the month does not have into the next month.
	if _, m, d := t.Date(); m != month || d != day {
		return time.Time{}, false
	}
	return t.Add(-zone), true
}

// parseSeconds parses an uptime such as 0.397s or 0,397s, with or without the s.
func parseSeconds(text []byte) (time.Duration, bool) {
	if n := len(text); text[n-1] == 's' {
		text = text[:n-1]
	}
	point := digits(text, 0)
	whole, ok := parseDuration(text[:point], time.Second)
	unit := time.Second
	for _, c := range text[point+1:] {
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
