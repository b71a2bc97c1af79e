package pause

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

const (
	maxPrefix = 1024 // bytes of decorations that ul accepts
	maxName   = 128  // bytes; no JDK has a longer name
	maxValue  = 256  // bytes of the value of an Init
)

// Parse parses one line, without its newline, with or without a carriage return at
// its end. It returns false if the line is not an event. It looks only at that line
// and allocates nothing.
//
// In JDK 8's log, Parse finds the event that one line shows, and allocates memory. It finds
// neither the number of a collection nor a pause whose record has several lines.
func Parse(line []byte) (e Event, ok bool) {
	var p ul.Parser
	if (&jdk8{}).claims(line) {
		if r := p.Parse(bytes.TrimSuffix(line, []byte{'\r'})); r.Stamped || line[0] == '[' {
			var old jdk8
			ok := e.choose(old.read(r.Message, r.Stamped))
			return e, ok
		}
	}
	_, ok = e.parse(line, 0, &p)
	return e, ok
}

// parse parses a line into e, which must be zero. If it returns false, e is zero again. The
// message begins at the offset at; if at is 0, parse finds it. If parse returns true, r is the
// parsed line.
func (e *Event) parse(line []byte, at int, p *ul.Parser) (r *ul.Record, ok bool) {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	var message []byte
	if at == 0 {
		message = messageOf(line)
	} else if at < len(line) {
		message = line[at:]
	}
	if len(message) == 0 {
		return nil, false
	}
	tag, ok := e.read(line, message)
	if ok {
		if r = p.Parse(line); decorated(r, message, tag) && (e.Kind != Phase || ofPhases(r)) {
			return r, true
		}
	}
	if e.Kind != 0 {
		*e = Event{} // parsed before the failure
	}
	e.GC, e.Old, e.Young = 0, false, false
	return nil, false
}

// messageOf finds the message by a shortcut, which also accepts some lines without UL's
// decorations. The decorations are checked only if the message is an event.
func messageOf(line []byte) []byte {
	if len(line) == 0 || line[0] != '[' {
		return line
	}
	// If there is a prefix, it ends at the first "] ".
	i := prefixEnd(line[:min(len(line), maxPrefix+1)])
	if i < 0 {
		return nil
	}
	return line[i+len("] "):]
}

// prefixEnd returns the index of the first "] ". It looks at every second byte, which is
// cheaper than bytes.Index, which stops at each bracket.
func prefixEnd(text []byte) int {
	for i := 1; i < len(text); i += 2 {
		switch text[i] {
		case ' ':
			if text[i-1] == ']' {
				return i - 1
			}
		case ']':
			if i+1 < len(text) && text[i+1] == ' ' {
				return i
			}
		}
	}
	return -1
}

// The tags of messages.
const (
	gcTag        = "gc"
	safepointTag = "safepoint"
	initTag      = "gc,init"
)

// read reads a message and returns the tag that its record must have. If it returns false, e is
// unusable. For most lines of a busy log, parsing ends in read or readGC. A function that sets
// a field of e other than GC, Old and Young sets Kind first, so an e without Kind has no other
// field to clear.
func (e *Event) read(line, message []byte) (tag string, ok bool) {
	switch message[0] {
	case 'G':
		if rest, ok := cutPrefix(message, "GC("); ok {
			return gcTag, e.readGC(rest)
		}
	case 'S':
		if rest, ok := cutPrefix(message, `Safepoint "`); ok {
			return safepointTag, e.readSafepoint(rest)
		}
	case 'T':
		if rest, ok := cutPrefix(message, stoppedBegin); ok {
			return safepointTag, e.readStopped(rest)
		}
	case 'E':
		if rest, ok := cutPrefix(message, "Entering safepoint region: "); ok {
			e.Kind, e.GC, e.Name = Enter, -1, rest
			return safepointTag, isOperation(rest)
		}
	case 'A', 'R':
		if rest, ok := cutPrefix(message, "Allocation Stall ("); ok {
			return gcTag, e.readStall(rest)
		}
		if rest, ok := cutPrefix(message, "Relocation Stall ("); ok && e.readStall(rest) {
			e.Relocation = true
			return gcTag, true
		}
	case 'U':
		if rest, ok := cutPrefix(message, "Using "); ok && len(rest) <= maxName && using[string(rest)] != "" {
			e.Kind, e.GC, e.Name, e.Value = Init, -1, message[:len("Using")], rest
			return gcTag, true
		}
	case 'C', 'F':
		if e.readGivenUp(message) {
			e.GC = -1
			return gcTag, true
		}
	}
	if isInit(line[:len(line)-len(message)]) {
		return initTag, e.readInit(message)
	}
	return "", false
}

// decorated reports whether the line is the first of a record with this message and with tags
// that begin with the given tag. A line without tags also passes, unless the tag is initTag. A
// lone word may be the hostname, so it is not treated as tags.
func decorated(r *ul.Record, message []byte, tag string) bool {
	if len(r.Message) != len(message) || r.Kind == ul.Continuation {
		return false
	}
	if r.Present&ul.Tags == 0 || r.Ambiguous&ul.Tags != 0 {
		return tag != initTag
	}
	rest, ok := cutPrefix(r.Tags, tag)
	return ok && (len(rest) == 0 || rest[0] == ',')
}

// readGC reads the text after "GC(": the number of the collection, the letter of the
// generation if ZGC has generations, and the event.
func (e *Event) readGC(text []byte) bool {
	id, n := digits(text)
	text, ok := cutPrefix(text[n:], ") ")
	if n == 0 || !ok || len(text) < 4 {
		return false
	}
	e.GC = id
	if c := text[0]; (c|0x20 == 'y' || c == 'O') && text[1] == ':' && text[2] == ' ' {
		e.Old, e.Young = c == 'O', c != 'O'
		text = text[3:]
	}
	switch text[0] {
	case ' ': // phases, and tables
		return e.readIndented(text)
	case 'P':
		if rest, ok := cutPrefix(text, "Pause "); ok {
			return e.readPause(rest)
		}
		return e.readSpace(text) || e.readFailure(text) || e.readFullPhase(text)
	case 'U':
		if rest, ok := cutPrefix(text, "User="); ok {
			return e.readCPU(rest)
		}
		return e.readWorkers(text)
	case 'C':
		if rest, ok := cutPrefix(text, "Concurrent "); ok {
			return e.readConcurrent(rest)
		}
		return e.readSpace(text) || e.readFullPhase(text) || e.readGivenUp(text)
	case 'M':
		if rest, ok := cutPrefix(text, "Metaspace: "); ok {
			return e.readMetaspace(rest)
		}
		return e.readCycle(text) || e.readFullPhase(text)
	case 'G', 'Y':
		return e.readCycle(text)
	case 'O':
		return e.readSpace(text) || e.readCycle(text)
	case 'T':
		return e.readSpace(text) || e.readFailure(text)
	case 'A':
		return e.readSpace(text) || e.readRow(text) || e.readFullPhase(text)
	case 'S':
		return e.readSpace(text) || e.readFullPhase(text)
	case 'F':
		return e.readFullPhase(text)
	case 'E', 'H':
		return e.readSpace(text)
	case 'D':
		return e.readSpace(text) || e.readGivenUp(text)
	}
	return false
}

// readPause reads the text after "Pause ": the name, the sizes of the heap, if any,
// and the duration. A line without a duration only announces the pause.
func (e *Event) readPause(text []byte) bool {
	e.Kind = Pause
	return e.readTimed(text)
}

// readTimed reads a name, the sizes of the heap, if any, and a duration in
// milliseconds.
func (e *Event) readTimed(text []byte) bool {
	text, ok := bytes.CutSuffix(text, []byte("ms"))
	i := bytes.LastIndexByte(text, ' ')
	if !ok || i < 0 {
		return false
	}
	number := text[i+1:]
	e.Duration, ok = decimal(number, time.Millisecond)
	name := text[:i]
	if j := bytes.LastIndexByte(name, ' '); j >= 0 && e.Heap.read(name[j+1:], 'M') {
		name = name[:j]
	}
	e.Name = name
	return ok && isPauseName(name)
}

// readConcurrent reads the end of a concurrent phase or cycle, and the beginning of a cycle of
// G1, which has no duration. One worker's part of a phase is not an event: isPauseName rejects
// a character in its name.
func (e *Event) readConcurrent(rest []byte) bool {
	switch string(rest) {
	case "Mark Cycle", "Undo Cycle", "Cycle":
		e.Kind, e.Name = Begin, rest
		return true
	case "mode failure":
		e.Kind, e.Name = Failure, rest
		return true
	}
	e.Kind = Concurrent
	return e.readTimed(rest) && bytes.IndexByte(e.Name, ':') < 0
}

// readCPU reads "0.01s Sys=0.00s Real=0.02s".
func (e *Event) readCPU(text []byte) bool {
	user, text, _ := bytes.Cut(text, []byte("s Sys="))
	sys, text, _ := bytes.Cut(text, []byte("s Real="))
	total, unit := bytes.CutSuffix(text, []byte("s"))
	var ok [3]bool
	e.Kind, e.Timed = CPU, true
	e.User, ok[0] = decimal(user, time.Second)
	e.Sys, ok[1] = decimal(sys, time.Second)
	e.Real, ok[2] = decimal(total, time.Second)
	e.Duration = e.Real
	return unit && ok == [3]bool{true, true, true}
}

// readSafepoint reads the text after `Safepoint "`: the operation, and labelled
// durations up to the total. It ignores the text after the total, which is the number
// of threads in JDK 24 and later and may have been cut off.
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
// the form of JDK 8 to 12.
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

// readStall reads "main) 5.811ms". The name of a thread may have any bytes.
func (e *Event) readStall(text []byte) bool {
	i := bytes.LastIndex(text, []byte(") "))
	if i < 0 || i > maxName || bytes.Contains(text[:i], []byte("] ")) || bytes.Contains(text[:i], []byte("GC(")) || bytes.Contains(text[:i], []byte(" Stall (")) {
		return false
	}
	number, unit := bytes.CutSuffix(text[i+2:], []byte("ms"))
	duration, ok := decimal(number, time.Millisecond)
	e.Kind, e.GC, e.Name, e.Duration = Stall, -1, text[:i], duration
	return unit && ok
}
