package ul

import (
	"bytes"
	"encoding/binary"
)

// A layout has the offsets of the brackets and the level of the last header. Padding
// keeps them in place from line to line, so for most lines a check of these offsets
// replaces a full parse. The zero value matches no line.
type layout struct {
	joints [maxFields]uint16 // offsets of "][" between two fields
	n      int               // the number of joints in use
	end    int               // offset of the last closing bracket
	need   int               // minimum length of a line; 0: the layout matches nothing
	level  int               // offset of the level
	mask   uint64            // the bytes of the level's field
	tags   int               // offset of the field after the level, or of the message
	whole  bool              // no other line begins in the decorations
}

var opening, closing = []byte{'['}, []byte{']'}

// Parts of a line as little-endian words.
const (
	joint  = '['<<8 | ']'
	last   = ' '<<8 | ']'
	spaces = 0x2020202020202020

	traceWord   = spaces>>40<<40 | 'e'<<32 | 'c'<<24 | 'a'<<16 | 'r'<<8 | 't'
	debugWord   = spaces>>40<<40 | 'g'<<32 | 'u'<<24 | 'b'<<16 | 'e'<<8 | 'd'
	infoWord    = spaces>>32<<32 | 'o'<<24 | 'f'<<16 | 'n'<<8 | 'i'
	warningWord = spaces>>56<<56 | 'g'<<48 | 'n'<<40 | 'i'<<32 | 'n'<<24 | 'r'<<16 | 'a'<<8 | 'w'
	errorWord   = spaces>>40<<40 | 'r'<<32 | 'o'<<24 | 'r'<<16 | 'r'<<8 | 'e'
)

// find splits a line that may have another layout, and sets l to that layout. It returns
// the level of the line, or Unknown if no field spells a level. If the line does not begin
// with a prefix, as in [prefix.scan], find returns false and l matches nothing. The line
// begins with a bracket.
func (l *layout) find(line []byte) (level Level, found bool) {
	l.n, l.need = 0, 0
	head := line[:min(len(line), maxPrefix)]
	start, at, place := 1, 0, 0 // offset of the field; offset and index of the level's field
	for {
		end := start + bytes.IndexByte(head[start:], ']')
		if end < start || end+1 >= len(line) {
			return Unknown, false
		}
		if v := levelIn(line[start:end]); v != Unknown {
			level, at, place = v, start, l.n
		}
		if line[end+1] == ' ' {
			l.end = end
			break
		}
		if line[end+1] != '[' || end+1 == len(head) || l.n == maxFields-1 {
			return Unknown, false
		}
		l.joints[l.n], start = uint16(end), end+2
		l.n++
	}
	// read handles only a level in the last field or in the field before the tags.
	if level != Unknown && place >= l.n-1 {
		l.adopt(at, place)
		l.whole = l.isWhole(line)
	}
	return level, true
}

// isWhole reports whether no other line begins in the decorations of a line, which find has split. A line that the
// JVM could not end may have another line's first field in or after one of its own.
func (l *layout) isWhole(line []byte) bool {
	if bytes.Count(line[:l.end], opening) > l.n+1 {
		return false
	}
	first := clockAt(line)
	for _, joint := range l.joints[:l.n] {
		if clockAt(line[joint+1:]) == first {
			return false
		}
	}
	return first != strangeShape
}

// message returns the offset of the message of the last header.
func (l *layout) message() uint16 { return uint16(l.end + len("] ")) }

// adopt makes l match lines with the level at the offset at. place is the index of the
// level's field, which is the last field or the field before the tags.
func (l *layout) adopt(at, place int) {
	l.level, l.tags = at, l.end+2
	if place < l.n {
		l.tags = int(l.joints[place]) + 2
	}
	if width := l.tags - 2 - at; width <= len("warning") {
		l.mask = 1<<(8*width) - 1
		l.need = max(l.end+2, at+8)
	}
}

// hasClock reports whether a field of the line, which find has split, is a clock.
func (l *layout) hasClock(line []byte) bool {
	start := 1
	for i := range l.n + 1 {
		end := l.end
		if i < l.n {
			end = int(l.joints[i])
		}
		if text := trim(line[start:end]); len(text) > 0 && isDigit(text[0]) {
			switch shapeOfNumber(text) {
			case timeShape, secondsShape, millisShape, nanosShape:
				return true
			}
		}
		start = end + 2
	}
	return false
}

// isTags reports whether the line, which find has split, has a single field with tags.
func (l *layout) isTags(line []byte) bool {
	if l.n > 0 {
		return false
	}
	s := shapeOf(trim(line[1:l.end]))
	return s == wordShape || s == tagsShape
}

// read returns the level of a header with this layout. It returns Unknown for any
// other line, and for a line that only a full parse can classify. It never returns
// a level if a full parse would find no header or another level. The line begins
// with a bracket.
func (l *layout) read(line []byte) Level {
	if l.need == 0 || len(line) < l.need || binary.LittleEndian.Uint16(line[l.end:]) != last {
		return Unknown
	}
	level := Unknown
	switch binary.LittleEndian.Uint64(line[l.level:])&l.mask | spaces&^l.mask {
	case infoWord:
		level = Info
	case debugWord:
		level = Debug
	case traceWord:
		level = Trace
	case warningWord:
		level = Warning
	case errorWord:
		level = Error
	default:
		return Unknown
	}
	fields := line[:l.end]
	for _, i := range l.joints[:l.n] {
		if binary.LittleEndian.Uint16(fields[i:]) != joint {
			return Unknown
		}
	}
	// Without another closing bracket, there are no other fields.
	if bytes.Count(fields, closing) != l.n || resemblesLevel(fields, l.tags) || level == Warning && endsAsDrop(line) {
		return Unknown
	}
	return level
}

// resemblesLevel reports whether the field at the offset i, if any, begins like a level. No tag
// begins like a level. If the field did spell a level, that would be the level of the line.
func resemblesLevel(fields []byte, i int) bool {
	const four = 1<<32 - 1
	if i+4 > len(fields) {
		return false
	}
	switch uint64(binary.LittleEndian.Uint32(fields[i:])) {
	case traceWord & four, debugWord & four, infoWord & four, warningWord & four, errorWord & four:
		return true
	}
	return false
}

// levelIn returns the level that a field spells, padding included, or Unknown.
func levelIn(text []byte) Level {
	if !resemblesLevel(text, 0) {
		return Unknown
	}
	return levelOf(trim(text))
}

// isBlank reports whether the line begins like a continuation line of JDK 24 and
// later.
func isBlank(line []byte) bool {
	head := line[:min(len(line), maxPrefix)]
	if len(head) < 3 || head[0] != '[' || head[1] != ' ' {
		return false
	}
	i := 2
	for i+8 <= len(head) && binary.LittleEndian.Uint64(head[i:]) == spaces {
		i += 8
	}
	for i < len(head) && head[i] == ' ' {
		i++
	}
	return i < len(head) && head[i] == ']' && i+1 < len(line) && line[i+1] == ' '
}
