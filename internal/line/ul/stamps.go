package ul

import "bytes"

// maxStamps bounds the stamps before a record. If two threads write at once, the stamps of
// both may precede the record of one thread.
const maxStamps = 6

// stamped lists how the text after the stamps can begin. It distinguishes a JVM's log from
// the log of another program whose lines also begin with dates and numbers.
var stamped = [...][]byte{
	[]byte("[GC"), []byte("[Full GC"), []byte("[CMS"), []byte("[G1Ergonomics"), []byte("[Pause "),
	[]byte("Total time for which application threads were stopped: "), []byte("Application time: "),
}

// readStamps reads the stamps that precede a record in the collector's log of JDK 8, and makes r a
// Header if the line begins with stamps and a record. Any of the three stamps may be missing, but
// at least the date or the uptime must be present:
//
//	2015-05-26T14:45:37.987-0200: 151.126: #7: [GC (Allocation Failure) …
//
// The options -XX:+PrintGCDateStamps, PrintGCTimeStamps and PrintGCID switch the stamps on. After
// the first stamp, the stamps of another thread may be mixed in at any place. If readStamps returns
// false, it has changed nothing.
func (r *Record) readStamps(line []byte) bool {
	var date, uptime []byte
	at := 0
	for range 2 * maxStamps {
		rest, one := line[at:], at == 0
		if n := len(timeForm); len(rest) > n && isTime(rest[:n]) {
			date, at = first(date, rest[:n]), at+n
		} else if n := secondsLen(rest); n > 0 {
			uptime, at = first(uptime, rest[:n]), at+n
		} else if n := idLen(rest); n > 0 {
			at += n
		} else if n := len(": "); !one && bytes.HasPrefix(rest, []byte(": ")) {
			at += n
		} else {
			break
		}
		if one && !bytes.HasPrefix(line[at:], []byte(": ")) {
			return false
		}
	}
	if date == nil && uptime == nil || !isStamped(line[at:]) {
		return false
	}
	r.Kind, r.Stamped, r.Message = Header, true, line[at:]
	if date != nil {
		r.set(Time, date)
	}
	if uptime != nil {
		r.set(Uptime, uptime)
	}
	return true
}

func first(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// secondsLen returns the length of the uptime at the beginning of text, or 0 if there is no
// uptime. An uptime of JDK 8 has at least three digits after the locale's decimal separator.
func secondsLen(text []byte) int {
	i := digits(text, 0)
	if i == 0 || i >= len(text) || text[i] != '.' && text[i] != ',' {
		return 0
	}
	switch end := digits(text, i+1); {
	case end > i+len(".126") && end < len(text) && text[end] == text[i]:
		return i + len(".126") // the uptime of another thread follows directly
	case end >= i+len(".126") && end <= i+len(".123456789"):
		return end
	}
	return 0
}

// idLen returns the length of the number of a collection, such as "#7", at the beginning of text, or 0.
func idLen(text []byte) int {
	if len(text) == 0 || text[0] != '#' {
		return 0
	}
	if end := digits(text, 1); end > 1 {
		return end
	}
	return 0
}

func isStamped(message []byte) bool {
	for _, begin := range stamped {
		if bytes.HasPrefix(message, begin) {
			return true
		}
	}
	return false
}
