package ul

import (
	"bytes"
	"strconv"
)

// Kind is the role of a line in its record. The zero value is Text.
type Kind uint8

// The kinds of lines.
const (
	Text         Kind = iota // not UL, or UL with decorators "none"
	Header                   // the first or only line of a record
	Continuation             // a further line of a record
	Drop                     // the JVM's report of lines that -Xlog:async discarded
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Header:
		return "header"
	case Continuation:
		return "continuation"
	case Drop:
		return "drop"
	}
	return "text"
}

// Record is one parsed line. Its slices are parts of that line, without the padding to their
// right. They are valid while the line is unchanged, and must not be written to. A field that
// is not in Present is nil.
//
// The zero value is the result for an empty line.
type Record struct {
	Kind  Kind
	Level Level // the level in the line itself; Warning for a Drop; otherwise Unknown

	Time         []byte
	UTCTime      []byte
	Uptime       []byte
	TimeMillis   []byte
	UptimeMillis []byte
	TimeNanos    []byte
	UptimeNanos  []byte
	Hostname     []byte
	PID          []byte
	TID          []byte
	LevelName    []byte
	Tags         []byte // separated by commas; present and empty for a record without tags

	// Present are the decorators that were found.
	Present Decorator

	// Ambiguous are the decorators in Present whose text could also belong to
	// another decorator. The package documentation lists the cases.
	Ambiguous Decorator

	// UnknownFields counts the bracketed fields that were not recognized.
	UnknownFields int

	// Message is the text after the decorations, byte for byte, or the whole line
	// if there are none.
	Message []byte

	// Dropped is the number of lines that the JVM discarded, for a Drop.
	Dropped uint64

	// Stamped says that the record is from the collector's log of JDK 8, which has stamps
	// and no brackets. Such a record may have Time and Uptime. It has no level.
	Stamped bool
}

// Parse parses one line, without its newline, and replaces all of r. It needs no configuration
// and looks at no other line. So it can't recognize a continuation without decorations, which
// becomes Text. For the lines of a stream, see [Classifier] and [Parser].
func (r *Record) Parse(line []byte) {
	var p prefix
	r.parse(line, &p)
}

// parse is Parse. For a Header, it sets p to the prefix.
func (r *Record) parse(line []byte, p *prefix) {
	*r = Record{Message: line}
	if p.scan(line) {
		r.Message = line[p.end:]
		if p.blank() {
			r.Kind = Continuation
		} else if r.resolve(line, p); r.Present&strong != 0 || r.Present != 0 && r.UnknownFields == 0 {
			r.Kind = Header
		} else {
			*r = Record{Message: line}
		}
	} else if len(line) > 0 && isDigit(line[0]) && r.readStamps(line) {
		return
	}
	r.findDrop(line)
}

// setField stores the text of one field in r, and the decorator in the field.
func (r *Record) setField(d Decorator, f *field, line []byte) {
	f.decorator = d
	r.set(d, f.of(line))
}

// set stores the text of one field.
func (r *Record) set(d Decorator, text []byte) {
	r.Present |= d
	switch d {
	case Time:
		r.Time = text
	case UTCTime:
		r.UTCTime = text
	case Uptime:
		r.Uptime = text
	case TimeMillis:
		r.TimeMillis = text
	case UptimeMillis:
		r.UptimeMillis = text
	case TimeNanos:
		r.TimeNanos = text
	case UptimeNanos:
		r.UptimeNanos = text
	case Hostname:
		r.Hostname = text
	case PID:
		r.PID = text
	case TID:
		r.TID = text
	case LevelDecorator:
		r.LevelName = text
	case Tags:
		r.Tags = text
	}
}

// Collection returns the number of the collection in the message, as in "GC(12) Pause Young".
func (r *Record) Collection() (id uint32, ok bool) {
	rest, ok := bytes.CutPrefix(r.Message, []byte("GC("))
	end := bytes.IndexByte(rest[:min(len(rest), len("4294967295)"))], ')')
	if !ok || end < 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(rest[:end]), 10, 32)
	return uint32(n), err == nil
}
