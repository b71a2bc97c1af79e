package format

import "time"

// stamp is the date and time of a record, as its text shows them. The zero value is none.
type stamp struct {
	year                      int // 0: there is no date
	month                     time.Month
	day, hour, minute, second int
	nanos                     int
	zone                      time.Duration // east of UTC
	unix                      time.Time     // instead of all others but nanos, if it is not zero
}

// time returns the moment, and false if there is no date or one that does not exist.
func (s *stamp) time() (time.Time, bool) {
	if !s.unix.IsZero() {
		return s.unix.Add(time.Duration(s.nanos)), true
	}
	if s.year == 0 {
		return time.Time{}, false
	}
	t := time.Date(s.year, s.month, s.day, s.hour, s.minute, s.second, s.nanos, time.UTC)
	// Date carries a value that is out of range into the next unit, so that unit differs.
	if t.Month() != s.month || t.Day() != s.day || t.Hour() != s.hour || t.Minute() != s.minute {
		return time.Time{}, false
	}
	return t.Add(-s.zone), true
}

func isDigit(c byte) bool { return c-'0' < 10 }

// number reads n digits at text[i], and returns -1 if they are not all there.
func number(text []byte, i, n int) int {
	if i+n > len(text) {
		return -1
	}
	v := 0
	for _, c := range text[i : i+n] {
		if !isDigit(c) {
			return -1
		}
		v = 10*v + int(c-'0')
	}
	return v
}

// readStamp reads a date and time, or a time alone, that begins the text, and returns the
// offset behind it; 0 if there is none.
//
//	2026-11-23T07:36:35.123+01:00  2026/11/23 07:36:35,123  07:36:35.123
func (s *stamp) readStamp(text []byte) (end int) {
	i := 0
	if len(text) >= 19 && (text[4] == '-' || text[4] == '/') {
		year, month, day := number(text, 0, 4), number(text, 5, 2), number(text, 8, 2)
		if year <= 0 || month < 0 || day < 0 || text[7] != text[4] || text[10] != 'T' && text[10] != ' ' {
			return 0
		}
		s.year, s.month, s.day = year, time.Month(month), day
		i = 11
	}
	if i+8 > len(text) || text[i+2] != ':' || text[i+5] != ':' {
		return 0
	}
	s.hour, s.minute, s.second = number(text, i, 2), number(text, i+3, 2), number(text, i+6, 2)
	if s.hour < 0 || s.minute < 0 || s.second < 0 {
		return 0
	}
	i = s.readFraction(text, i+8)
	return s.readZone(text, i)
}

// readFraction reads a fraction of a second of up to nine digits.
func (s *stamp) readFraction(text []byte, i int) (end int) {
	if i+1 >= len(text) || text[i] != '.' && text[i] != ',' || !isDigit(text[i+1]) {
		return i
	}
	unit := int(time.Second)
	for i++; i < len(text) && isDigit(text[i]) && unit > 1; i++ {
		unit /= 10
		s.nanos += int(text[i]-'0') * unit
	}
	return i
}

// readZone reads Z or an offset like +01:00, +0100 or +01, also behind a space.
func (s *stamp) readZone(text []byte, i int) (end int) {
	if i < len(text) && text[i] == 'Z' {
		return i + 1
	}
	at := i
	if at+1 < len(text) && text[at] == ' ' {
		at++
	}
	if at+3 > len(text) || text[at] != '+' && text[at] != '-' {
		return i
	}
	hours := number(text, at+1, 2)
	if hours < 0 {
		return i
	}
	end = at + 3
	minutes := 0
	switch {
	case end < len(text) && text[end] == ':' && number(text, end+1, 2) >= 0:
		minutes, end = number(text, end+1, 2), end+3
	case number(text, end, 2) >= 0:
		minutes, end = number(text, end, 2), end+2
	}
	s.zone = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if text[at] == '-' {
		s.zone = -s.zone
	}
	return end
}
