package format

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// object has the level and the time of a JSON object, read from its members.
type object struct {
	text  []byte
	level ul.Level
	at    *stamp
	dated bool

	numbered bool // the level is a number
}

// parseJSON returns the header of a line that begins with an object. An object that does not
// end in the line is a header only if the line shows its level. A number is a level only in an
// object that also has a date, since other objects have numbered levels as well.
func parseJSON(line []byte, at *stamp) (h header, ok bool) {
	o := object{text: line, at: at}
	end, whole := o.members(1, "")
	whole = whole && skipBlank(line, end) == len(line)
	if o.numbered && !o.dated {
		o.level = ul.Unknown
	}
	return header{format: JSON, level: o.level}, whole && o.dated || o.level != ul.Unknown
}

// flatLevel returns the level in a member of the object that a line begins with. If there is
// none, or only a parser can find it, flatLevel returns Unknown. Inside a string, a quotation
// mark is escaped, so a match is always the name of a member. It is a member of the object
// itself, because no other object begins before it.
func flatLevel(line []byte) ul.Level {
	if len(line) == 0 || line[0] != '{' || !is(line, skipBlank(line, 1), `"`) {
		return ul.Unknown
	}
	i := bytes.Index(line, []byte(`level":`))
	if i < 2 || bytes.IndexByte(line[1:i], '{') >= 0 {
		return ul.Unknown
	}
	if name := line[:i]; name[i-1] != '"' && !bytes.HasSuffix(name, []byte(`"log.`)) && !bytes.HasSuffix(name, []byte(`"log`)) {
		return ul.Unknown
	}
	value, _ := str(line, skipBlank(line, i+len(`level":`)))
	return levelOfAnyCase(value)
}

// members reads the members of the object whose opening brace is just before text[i]. It
// returns the offset after the closing brace. whole is false if members stopped early: the text
// is malformed or ends too soon, or nothing more is needed. within is empty for the line's own
// object. For an object inside it, within is the name of the member that has it, and members
// looks no deeper.
func (o *object) members(i int, within string) (end int, whole bool) {
	for {
		i = skipBlank(o.text, i)
		if i < len(o.text) && o.text[i] == '}' {
			return i + 1, true
		}
		name, next := str(o.text, i)
		if next == 0 {
			return i, false
		}
		i = skipBlank(o.text, next)
		if !is(o.text, i, ":") {
			return i, false
		}
		i = skipBlank(o.text, i+1)
		if i = o.value(name, within, i); i == 0 || within == "" && o.level != ul.Unknown && o.dated {
			return i, false
		}
		i = skipBlank(o.text, i)
		if is(o.text, i, ",") {
			i++
		} else if !is(o.text, i, "}") {
			return i, false
		}
	}
}

// value reads the value of a member at text[i] and returns the offset after it, or 0 if the
// value does not end.
func (o *object) value(name []byte, within string, i int) (end int) {
	if i >= len(o.text) {
		return 0
	}
	switch o.text[i] {
	case '"':
		text, end := str(o.text, i)
		if end > 0 {
			o.member(name, within, text, true)
		}
		return end
	case '{', '[':
		if within == "" && o.text[i] == '{' {
			switch string(name) {
			case "log":
				o.members(i+1, "log")
			case "instant":
				o.members(i+1, "instant")
			}
		}
		return nested(o.text, i)
	}
	end = i
	for end < len(o.text) && o.text[end] != ',' && o.text[end] != '}' && o.text[end] > ' ' {
		end++
	}
	o.member(name, within, o.text[i:end], false)
	return end
}

// member records the value if the member is a level or a time. Of several, the first is used.
func (o *object) member(name []byte, within string, value []byte, quoted bool) {
	switch string(name) {
	case "level":
		if within == "instant" || o.level != ul.Unknown {
			return
		}
		if o.level = levelOfAnyCase(value); !quoted {
			o.level, o.numbered = levelOfNumber(value), true
		}
	case "log.level", "loglevel", "severity":
		if within == "" && o.level == ul.Unknown && quoted {
			o.level = levelOfAnyCase(value)
		}
	case "@timestamp", "timestamp", "time", "ts", "timeMillis", "ibm_datetime":
		if within == "" && !o.dated {
			o.dated = o.date(value, quoted)
		}
	case "epochSecond":
		if within == "instant" && !o.dated {
			o.dated = o.date(value, false)
		}
	case "nanoOfSecond":
		if within == "instant" {
			o.nanos(value)
		}
	case "timestampSeconds": // timestampNanos follows, so the date is not complete yet
		if within == "" && !o.dated {
			o.date(value, quoted)
		}
	case "timestampNanos":
		o.dated = o.dated || within == "" && o.nanos(value)
	}
}

// nanos stores the nanoseconds of a second, and reports whether the second was read before.
func (o *object) nanos(value []byte) bool {
	if o.at.unix.IsZero() {
		return false
	}
	if n := number(value, 0, len(value)); len(value) <= len("999999999") && n > 0 {
		o.at.nanos = n
	}
	return true
}

// date reads a date as text, or a number of seconds, milliseconds, microseconds or nanoseconds since
// 1970. From 2001 to 2286, the number of digits shows the unit. A number with fewer digits may be a
// duration.
func (o *object) date(value []byte, quoted bool) bool {
	var s stamp
	if quoted {
		n := s.readStamp(value)
		if n == 0 || s.readName(value, n) != len(value) || s.year == 0 {
			return false
		}
		*o.at = s
		return true
	}
	const digits = len("1715073164")
	whole, _, _ := bytes.Cut(value, []byte{'.'})
	seconds, nanos := number(value, 0, digits), 0
	if seconds < 1e9 || len(whole)%3 != digits%3 || len(whole) > digits+9 {
		return false
	}
	unit := int(time.Second)
	for i, c := range value[digits:] {
		switch {
		case isDigit(c):
			unit /= 10
			nanos += int(c-'0') * unit
		case digits+i != len(whole): // 1.7E9
			return false
		}
	}
	o.at.unix = time.Unix(int64(seconds), int64(nanos)).UTC()
	return true
}

// str returns the text of the string at text[i], with its escapes unchanged, and the offset
// after it. The offset is 0 if no string begins there or if the string does not end.
func str(text []byte, i int) (content []byte, end int) {
	if !is(text, i, `"`) {
		return nil, 0
	}
	for end = i + 1; ; end++ {
		n := bytes.IndexByte(text[end:], '"')
		if n < 0 {
			return nil, 0
		}
		end += n
		slashes := end
		for text[slashes-1] == '\\' {
			slashes--
		}
		if (end-slashes)%2 == 0 {
			return text[i+1 : end], end + 1
		}
	}
}

// nested returns the offset after the object or array at text[i], or 0 if it does not end.
// It counts both kinds of brackets together, which makes no difference for well-formed
// text.
func nested(text []byte, i int) (end int) {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			_, next := str(text, i)
			if next == 0 {
				return 0
			}
			i = next
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return 0
}

// skipBlank returns the offset of the first byte at i or later that is not blank.
func skipBlank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}
