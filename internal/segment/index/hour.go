package index

import (
	"bytes"
	"time"
)

// hour reads the clocks of lines that were written in the same hour as an earlier line. The
// results are the same as those of [ul.Record], in a tenth of the time. The zero value reads no
// line.
type hour struct {
	begins []byte // the beginning of such a line: [2026-11-22T10:
	zone   []byte // the text after its milliseconds: +0000]
	at     time.Time
}

const (
	atMinute = len("[2026-11-22T10:")
	atSecond = atMinute + len("00:")
	atMilli  = atSecond + len("00.")
	atZone   = atMilli + len("000")
	timeEnds = atZone + len("+0000]")
)

// begin remembers the hour of a line whose first decorator is its time.
func (h *hour) begin(line []byte, when time.Time) {
	h.begins = h.begins[:0]
	if into, ok := sinceHour(line); ok {
		h.begins, h.zone, h.at = append(h.begins, line[:atMinute]...), append(h.zone[:0], line[atZone:timeEnds]...), when.Add(-into)
	}
}

// numbers is how many numbers may be between the clocks and the level: the process and the thread.
const numbers = 2

// sinceHour returns how long after the beginning of an hour a line was written.
func sinceHour(line []byte) (d time.Duration, ok bool) {
	if len(line) < timeEnds || line[atSecond-1] != ':' || line[atMilli-1] != '.' || line[timeEnds-1] != ']' {
		return 0, false
	}
	minute, ok1 := digits(line[atMinute : atSecond-1])
	second, ok2 := digits(line[atSecond : atMilli-1])
	milli, ok3 := digits(line[atMilli:atZone])
	d = time.Duration((minute*60+second)*1000+milli) * time.Millisecond
	return d, ok1 && ok2 && ok3 && minute < 60 && second < 60
}

// read returns when a line of the hour was written, its uptime if uptimes is set, and the offset of
// the first decoration after them that is not a number. That decoration may be the level.
func (h *hour) read(line []byte, uptimes bool) (when time.Time, up time.Duration, level int, ok bool) {
	if len(h.begins) == 0 || !bytes.HasPrefix(line, h.begins) {
		return when, 0, 0, false
	}
	into, ok := sinceHour(line)
	if !ok || !bytes.Equal(line[atZone:timeEnds], h.zone) {
		return when, 0, 0, false
	}
	level = timeEnds
	if uptimes {
		text, _, found := bytes.Cut(line[level:min(len(line), level+len("[1000000000.000s]"))], []byte{']'})
		if up, ok = uptimeOf(text); !ok || !found {
			return when, 0, 0, false
		}
		level += len(text) + 1
	}
	for n := 0; n <= numbers && level+1 < len(line) && line[level] == '['; n++ {
		if line[level+1]-'0' > 9 {
			return h.at.Add(into), up, level, true
		}
		end := bytes.IndexByte(line[level:], ']')
		if _, ok := digits(line[level+1 : level+max(1, end)]); !ok {
			break
		}
		level += end + 1
	}
	return when, 0, 0, false
}

// uptimeOf reads an uptime with its first bracket: [12.345s.
func uptimeOf(text []byte) (up time.Duration, ok bool) {
	n := len(text) - len(".000s")
	if n < len("[0") || text[0] != '[' || text[n] != '.' || text[len(text)-1] != 's' {
		return 0, false
	}
	whole, ok1 := digits(text[1:n])
	milli, ok2 := digits(text[n+1 : len(text)-1])
	return time.Duration(whole*1000+milli) * time.Millisecond, ok1 && ok2
}

// digits reads a number of at most ten digits.
func digits(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(text) > 0 && len(text) <= 10
}
