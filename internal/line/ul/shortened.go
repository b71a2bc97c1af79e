package ul

import (
	"bytes"
	"time"
)

// shortenedMessage ends the line that [AppendShortened] appends.
const shortenedMessage = "][ullage] cut: a part of the record before this line is missing, because it was too long"

// AppendShortened appends the line that follows an application's record whose middle or end was left out, with its
// newline, and returns the extended slice. The line has UL's form and the record's time and level, so that it is kept
// or dropped together with the record:
//
//	[2026-11-21T10:49:00.123+0000][error][ullage] cut: a part of the record before this line is missing, because it was too long
func AppendShortened(dst []byte, at time.Time, level Level) []byte {
	dst = append(dst, '[')
	dst = writable(at).AppendFormat(dst, TimeLayout)
	dst = append(append(dst, "]["...), level.String()...)
	return append(append(dst, shortenedMessage...), '\n')
}

// IsShortened reports whether a line, without its newline, has the form that [AppendShortened] writes. As with all lines,
// the text does not prove who wrote it.
func IsShortened(line []byte) bool {
	before, found := bytes.CutSuffix(line, []byte(shortenedMessage))
	if !found || len(before) <= len(timeForm)+len("[][") || !isTime(before[1:1+len(timeForm)]) {
		return false
	}
	rest := string(before[1+len(timeForm):])
	for level := Trace; level <= Error; level++ {
		if rest == "]["+level.String() {
			return before[0] == '['
		}
	}
	return false
}
