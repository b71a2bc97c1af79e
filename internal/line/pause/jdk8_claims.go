package pause

import (
	"bytes"
	"time"
)

// claims reports whether a line must be read as JDK 8's: it begins like a record of JDK 8, or the
// last record of the stream was JDK 8's and the line is not Unified Logging.
func (o *jdk8) claims(line []byte) bool {
	if len(line) < len("[GC") {
		return o.active && len(line) > 0
	}
	switch c := line[0]; {
	case c == '[':
		if o.active && (line[1]-'A' < 26 || line[1] == '1' && line[2] == ' ') {
			return true
		}
		return line[1] == 'G' && isOldPause(line[1:]) || line[1] == 'F' && isOldPause(line[1:])
	case isDigit(c):
		return o.active || mayBeStamped(line)
	case c == 'O', c == 'J':
		return o.active || isHeader(line)
	case c == 'C':
		return o.active || bytes.HasPrefix(line, []byte(flagsBegin))
	}
	return o.active
}

// mayBeStamped reports whether a line that begins with a digit may have a stamp, which ends with a
// colon and a space.
func mayBeStamped(line []byte) bool {
	const date = len("2015-05-26T14:45:37.987-0200")
	if len(line) > date && line[date] == ':' {
		return true
	}
	_, n := digits(line)
	if n == 0 || n == len(line) || line[n] != '.' && line[n] != ',' {
		return false
	}
	_, m := digits(line[n+1:])
	end := n + 1 + m
	return m > 2 && end+1 < len(line) && line[end] == ':' && line[end+1] == ' '
}

// isOldPause reports whether the text after an opening bracket begins a pause.
func isOldPause(rest []byte) bool {
	rest, full := cutPrefix(rest, "Full ")
	rest, ok := cutPrefix(rest, "GC")
	if !ok || len(rest) == 0 {
		return ok
	}
	switch rest[0] {
	case '-', '[', ':', ',', '(':
		return true
	case ' ':
		if full {
			return true
		}
		rest = rest[1:]
		for _, word := range [...]string{"(", "[", "pause", "remark", "cleanup", "Before GC", "{", "--"} {
			if bytes.HasPrefix(rest, []byte(word)) {
				return true
			}
		}
		return len(rest) == 0 || isDigit(rest[0])
	}
	return isDigit(rest[0]) || bytes.HasPrefix(rest, []byte("Before GC")) || bytes.HasPrefix(rest, []byte("AdaptiveSize")) || bytes.HasPrefix(rest, []byte("PSAdaptiveSize")) || bytes.HasPrefix(rest, []byte("Desired survivor"))
}

// mayFollow reports whether a record may have ended before rest: rest is empty, the record's CPU
// times, or another record. Anything else means that a bracket inside the record was lost, and
// that the apparent length of the pause is only the length of a part.
func mayFollow(rest []byte) bool {
	// rest may be the uptime in the first line that -XX:+PrintCMSInitiationStatistics writes.
	if _, ok := decimal(bytes.TrimRight(rest, "\r"), time.Second); ok {
		return true
	}
	rest = bytes.TrimLeft(rest, " \r")
	return len(rest) == 0 || bytes.HasPrefix(rest, []byte("[Times: ")) || isDigit(rest[0]) && mayBeStamped(rest)
}
