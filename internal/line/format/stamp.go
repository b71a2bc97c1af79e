package format

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// stamp is the date and time in the text of a record. The zero value means that the text
// has neither.
type stamp struct {
	dated                     bool // the text shows a date, which may be ambiguous
	zoned                     bool // the text shows a zone, which was read
	year                      int  // 0: there is no date, or it is ambiguous
	month                     time.Month
	day, hour, minute, second int
	nanos                     int
	zone                      time.Duration // east of UTC
	unix                      time.Time     // if not zero, used with nanos instead of the other fields
}

// time returns the moment, or false if there is no date or the date does not exist.
func (s *stamp) time() (time.Time, bool) {
	if !s.unix.IsZero() {
		return s.unix.Add(time.Duration(s.nanos)), true
	}
	if s.year < 1970 || s.year >= 2100 { // no date, or a year of another calendar
		return time.Time{}, false
	}
	t := time.Date(s.year, s.month, s.day, s.hour, s.minute, s.second, s.nanos, time.UTC)
	// time.Date carries an out-of-range value over, so that another unit differs.
	if t.Month() != s.month || t.Day() != s.day || t.Hour() != s.hour || t.Minute() != s.minute {
		return time.Time{}, false
	}
	return t.Add(-s.zone), true
}

func isDigit(c byte) bool { return c-'0' < 10 }

// number reads n digits at text[i], and returns -1 if there are fewer, or if i is negative.
func number(text []byte, i, n int) int {
	if i < 0 || i+n > len(text) {
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

// readStamp reads a date and time, or only a time, at the beginning of the text. It returns
// the offset after it, or 0 if there is none.
//
//	2026-11-23T07:36:35.123+01:00  2026/11/23 07:36:35,123  07:36:35.123
//	23-Nov-2026 07:36:35.123  23 Nov 2026 07:36:35,123  20261123 073635,123
//	26/11/23 07:36:35  11/23/2026 07:36:35
//
// The dates in the last row are ambiguous: their stamps are dated, but time returns false for
// them.
func (s *stamp) readStamp(text []byte) (end int) {
	i, step := s.readDate(text), len("07:")
	if i > 0 && isDigit(text[2]) && isDigit(text[4]) {
		step = len("07")
	}
	end = i + 2*step + len("35")
	if end > len(text) || step == len("07:") && (text[i+2] != ':' || text[i+5] != ':') {
		return 0
	}
	s.hour, s.minute, s.second = number(text, i, 2), number(text, i+step, 2), number(text, i+2*step, 2)
	if s.hour < 0 || s.minute < 0 || s.second < 0 {
		return 0
	}
	return s.readZone(text, s.readFraction(text, end))
}

// readDate returns the offset after a date and the space or T that follows it, or 0 if there is
// no date.
func (s *stamp) readDate(text []byte) (end int) {
	if len(text) < len("20261123 073635") {
		return 0
	}
	year, month, day := 0, -1, -1 // year 0: the date is ambiguous
	switch sep := text[2]; {
	case text[4] == text[7] && isSeparator(text[4]):
		year, month, day, end = number(text, 0, 4), number(text, 5, 2), number(text, 8, 2), 10
	case isDigit(sep) && isDigit(text[4]) && isDigit(text[5]):
		year, month, day, end = number(text, 0, 4), number(text, 4, 2), number(text, 6, 2), 8
		if year < 1970 || year >= 2100 { // it may be any number, not a date
			return 0
		}
	case sep == text[6] && (isSeparator(sep) || sep == ' '):
		year, month, day, end = number(text, 7, 4), monthOf(text[3:6]), number(text, 0, 2), 11
	case sep != text[5] || !isSeparator(sep):
	case text[8] == ' ':
		if number(text, 6, 2) >= 0 {
			month, day, end = number(text, 3, 2), number(text, 0, 2), 8
		}
	case number(text, 6, 4) > 0:
		month, day, end = number(text, 3, 2), number(text, 0, 2), 10
		if sep == '.' {
			year = number(text, 6, 4)
		}
	}
	if end == 0 || year < 0 || month < 0 || day < 0 || end >= len(text) || text[end] != 'T' && text[end] != ' ' {
		return 0
	}
	s.dated, s.year, s.month, s.day = true, year, time.Month(month), day
	return end + 1
}

// isSeparator reports whether c may separate the parts of a date.
func isSeparator(c byte) bool { return c == '-' || c == '/' || c == '.' }

// monthOf returns the month of a name of three letters, or -1.
func monthOf(name []byte) int {
	month := bytes.Index([]byte(months), name)
	if month < 0 || month%3 != 0 {
		return -1
	}
	return month/3 + 1
}

// readMillis reads milliseconds since 1970 at the beginning of the text. It returns the
// offset after them, or 0 if there are none.
func (s *stamp) readMillis(text []byte) (end int) {
	const digits = len("1795419395123")
	millis := number(text, 0, digits)
	if millis < 1e12 || !is(text, digits, " ") {
		return 0
	}
	s.unix, s.zoned = time.UnixMilli(int64(millis)).UTC(), true
	return digits
}

// readFraction reads a fraction of a second of up to nine digits.
func (s *stamp) readFraction(text []byte, i int) (end int) {
	if i+1 >= len(text) || text[i] != '.' && text[i] != ',' && text[i] != ':' || !isDigit(text[i+1]) {
		return i
	}
	unit := int(time.Second)
	for i++; i < len(text) && isDigit(text[i]) && unit > 1; i++ {
		unit /= 10
		s.nanos += int(text[i]-'0') * unit
	}
	return i
}

// maxHours is the largest offset of a zone in Java.
const maxHours = 18

// readZone reads Z or an offset such as +01:00, +0100 or +01, which may follow a space.
func (s *stamp) readZone(text []byte, i int) (end int) {
	if i < len(text) && text[i] == 'Z' {
		s.zoned = true
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
	if hours > maxHours || minutes > 59 {
		return i // such as the number of a process
	}
	s.zoned = true
	s.zone = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if text[at] == '-' {
		s.zone = -s.zone
	}
	return end
}

// readName returns the offset after a word that changes the time before it: the name of a zone, or PM,
// with or without brackets. Without such a word it returns i. The line does not show the offset of a
// zone such as CEST, so the moment is unknown. A thread's name in capital letters is mistaken for the
// name of a zone: the moment is then unknown rather than wrong.
func (s *stamp) readName(text []byte, i int) (end int) {
	begin := i
	if is(text, begin, " ") {
		begin++
	}
	bracket := is(text, begin, "[") || is(text, begin, "(")
	if bracket {
		begin++
	}
	end = begin
	for end < len(text) && nameBytes[text[end]] {
		end++
	}
	word := text[begin:end]
	half := string(word) == "am" || string(word) == "pm"
	switch {
	case is(text, end, ":") && number(text, end+1, 2) >= 0 && bytes.ContainsAny(word, "+-"):
		end += len(":00")
		word = text[begin:end]
	case is(text, end, ".m.") && (string(word) == "a" || string(word) == "p"):
		end += len(".m.")
		half = true
	}
	switch {
	case !half && !isName(word) || bracket && !is(text, end, "]") && !is(text, end, ")"):
		return i
	case s.zoned || string(word) == "UTC" || string(word) == "GMT":
	default:
		s.year, s.unix = 0, time.Time{}
	}
	if bracket {
		end++
	}
	return end
}

// nameBytes has the bytes of the names of zones: CEST, Europe/Berlin, GMT+02:00.
var nameBytes = func() (is [256]bool) {
	for _, c := range "/_+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" {
		is[c] = true
	}
	return is
}()

// isName reports whether a word may be the name of a zone, AM or PM: it begins with a capital,
// is not a level, and has a slash or no lower-case letters.
func isName(word []byte) bool {
	if len(word) < 2 || !isUpper(word[0]) || levelOf(word) != ul.Unknown {
		return false
	}
	if bytes.IndexByte(word, '/') > 0 {
		return true
	}
	for _, c := range word {
		if c-'a' < 26 {
			return false
		}
	}
	return true
}

func isUpper(c byte) bool { return c-'A' < 26 }
