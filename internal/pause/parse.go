package pause

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/ul"
)

const (
	minLine   = len("GC(0) Pause X 0.0ms") // no event is shorter
	maxPrefix = 1024                       // bytes of decorations that ul takes
	maxName   = 128                        // bytes; no JDK has a longer name
)

// Parse parses one line, without its newline, with or without a carriage return
// at its end. It returns false if the line is not an event. It looks at that
// line alone, and allocates nothing.
func Parse(line []byte) (e Event, ok bool) {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if !ends(line) {
		return e, false
	}
	if ok = e.read(line); !ok {
		e = Event{} // parsed before the failure
	}
	return e, ok
}

// ends reports whether the last bytes can be those of an event: "1ms", "1s" and
// " ns", or " total" and " seconds" of a safepoint. That rules out most lines
// before any search.
func ends(line []byte) bool {
	n := len(line)
	if n < minLine {
		return false
	}
	switch before := line[n-2]; line[n-1] {
	case 's':
		return before == 'm' || before == 'n' || before == 'd' || isDigit(before)
	case 'l':
		return before == 'a'
	}
	return false
}

// read is Parse for a line with such an end; if it returns false, e is
// unusable. A short cut finds the message, and also accepts some lines that are
// not decorated like UL. The decorations are checked only if the message is an
// event.
func (e *Event) read(line []byte) bool {
	message := line
	if line[0] == '[' {
		// The prefix, if it is one, ends at the first "] ".
		i := bytes.Index(line[:min(len(line), maxPrefix+1)], []byte("] "))
		if i < 0 {
			return false
		}
		message = line[i+len("] "):]
	}
	if rest, ok := cutPrefix(message, "GC("); ok {
		return e.readGC(rest) && decorated(line, message, "gc")
	}
	if rest, ok := cutPrefix(message, `Safepoint "`); ok {
		return e.readSafepoint(rest) && decorated(line, message, "safepoint")
	}
	if rest, ok := cutPrefix(message, "Total time for which application threads were stopped: "); ok {
		return e.readStopped(rest) && decorated(line, message, "safepoint")
	}
	return false
}

// decorated reports whether the line is the first of a record with this message,
// and its tags, as far as the line shows them, begin with the given one. A lone
// word may be the hostname as well, and speaks against nothing.
func decorated(line, message []byte, tag string) bool {
	var r ul.Record
	r.Parse(line)
	if len(r.Message) != len(message) || r.Kind == ul.Continuation {
		return false
	}
	if r.Present&ul.Tags == 0 || r.Ambiguous&ul.Tags != 0 {
		return true
	}
	rest, ok := cutPrefix(r.Tags, tag)
	return ok && (len(rest) == 0 || rest[0] == ',')
}

// readGC reads what follows "GC(": the number of the collection, the letter of
// the generation where ZGC has them, and a Pause or CPU event.
func (e *Event) readGC(text []byte) bool {
	id, n := digits(text)
	text, ok := cutPrefix(text[n:], ") ")
	if n == 0 || !ok {
		return false
	}
	e.GC = id
	if len(text) > 3 && (text[0] == 'y' || text[0] == 'Y' || text[0] == 'O') && text[1] == ':' && text[2] == ' ' {
		text = text[3:]
	}
	if rest, ok := cutPrefix(text, "Pause "); ok {
		return e.readPause(rest)
	}
	if rest, ok := cutPrefix(text, "User="); ok {
		return e.readCPU(rest)
	}
	return false
}

// readPause reads what follows "Pause ": the name, the sizes of the heap or
// nothing, and the duration. Without a duration it is the line that announces
// the pause.
func (e *Event) readPause(text []byte) bool {
	i := bytes.LastIndexByte(text, ' ')
	if i < 0 {
		return false
	}
	number, ok := bytes.CutSuffix(text[i+1:], []byte("ms"))
	if !ok {
		return false
	}
	duration, ok := decimal(number, time.Millisecond)
	name := text[:i]
	if j := bytes.LastIndexByte(name, ' '); j >= 0 && isHeap(name[j+1:]) {
		name = name[:j]
	}
	if !ok || !isPauseName(name) {
		return false
	}
	e.Kind, e.Name, e.Duration = Pause, name, duration
	return true
}

// readCPU reads "0.01s Sys=0.00s Real=0.02s".
func (e *Event) readCPU(text []byte) bool {
	user, text, _ := bytes.Cut(text, []byte("s Sys="))
	sys, text, _ := bytes.Cut(text, []byte("s Real="))
	total, unit := bytes.CutSuffix(text, []byte("s"))
	var ok [3]bool
	e.User, ok[0] = decimal(user, time.Second)
	e.Sys, ok[1] = decimal(sys, time.Second)
	e.Real, ok[2] = decimal(total, time.Second)
	e.Kind, e.Duration = CPU, e.Real
	return unit && ok == [3]bool{true, true, true}
}

// readSafepoint reads what follows `Safepoint "`: the operation, and durations
// with labels up to the total. What comes after the total, in JDK 24 and newer
// the number of threads, is of no interest, and may have been cut off.
func (e *Event) readSafepoint(text []byte) bool {
	name, text, _ := bytes.Cut(text, []byte(`", `))
	if !isOperation(name) {
		return false
	}
	e.Kind, e.GC, e.Name = Safepoint, -1, name
	reached, at := false, false
	for {
		field, rest, _ := bytes.Cut(text, []byte(", "))
		label, value, _ := bytes.Cut(field, []byte(": "))
		duration, ok := nanos(value)
		if !ok {
			return false
		}
		switch string(label) {
		case "Reaching safepoint":
			e.Reaching, reached = duration, true
		case "Cleanup":
			e.Cleanup = duration
		case "At safepoint":
			e.At, at = duration, true
		case "Leaving safepoint":
			e.Leaving = duration
		case "Total":
			e.Duration = duration
			return reached && at
		}
		text = rest
	}
}

// readStopped reads "0.0012345 seconds, Stopping threads took: 0.0000123 seconds",
// as JDK 9 to 12 write it.
func (e *Event) readStopped(text []byte) bool {
	total, text, _ := bytes.Cut(text, []byte(" seconds, Stopping threads took: "))
	reaching, unit := bytes.CutSuffix(text, []byte(" seconds"))
	var ok [2]bool
	e.Kind, e.GC = Safepoint, -1
	e.Duration, ok[0] = decimal(total, time.Second)
	e.Reaching, ok[1] = decimal(reaching, time.Second)
	e.At = e.Duration - e.Reaching
	return unit && ok == [2]bool{true, true} && e.At >= 0
}
