package ul

import (
	"bytes"
	"encoding/binary"
)

// Parser parses lines with the same result as [Record.Parse]. It is for the lines of one
// stream: it keeps the layout of the last header and parses a header with the same layout in
// half the time. The zero value is ready for use. A Parser is not safe for concurrent use.
type Parser struct {
	record Record
	prefix prefix  // of the record, if it is a Header
	zone   [5]byte // of its Time
	known  bool    // the record is a Header whose decorators depend only on the shapes in the prefix
}

// Parse parses a line without its newline. The record is valid until the next call, and only
// while the line is unchanged.
func (p *Parser) Parse(line []byte) *Record {
	if p.known && p.repeat(line) {
		return &p.record
	}
	p.record.parse(line, &p.prefix)
	p.known = p.record.Kind == Header && p.fixed()
	if p.known && p.record.Present&Time != 0 {
		p.zone = [5]byte(p.record.Time[len(timeForm)-5:])
	}
	return &p.record
}

// fixed reports whether every line whose fields have the shapes of the prefix must have the
// record's decorators. The decorator of milliseconds also depends on the value, and without a level the
// kind of the line also depends on the message.
func (p *Parser) fixed() bool {
	for _, f := range p.prefix.fields[:p.prefix.n] {
		if f.shape == millisShape || f.shape == strangeShape {
			return false
		}
	}
	return p.prefix.level >= 0
}

// repeat reads a line whose fields have the places and the shapes of the last header's fields.
// For any other line it returns false, and the record is unusable.
func (p *Parser) repeat(line []byte) bool {
	r, n, end := &p.record, p.prefix.n, p.prefix.end-len("] ")
	if len(line) < end+2 || line[0] != '[' || binary.LittleEndian.Uint16(line[end:]) != last {
		return false
	}
	for i := n - 1; i >= 0; i-- {
		f := &p.prefix.fields[i]
		text := trim(line[f.start:end])
		if !p.alike(f, text) {
			return false
		}
		if r.set(f.decorator, text); f.decorator == LevelDecorator {
			r.Level = levelOf(text)
		}
		if end = int(f.start) - len("]["); i > 0 && binary.LittleEndian.Uint16(line[end:]) != joint {
			return false
		}
	}
	r.Message = line[p.prefix.end:]
	return r.Level != Warning || !endsAsDrop(line)
}

// alike reports whether a text without a bracket gives the field the same decorator as the
// previous text.
func (p *Parser) alike(f *field, text []byte) bool {
	switch f.shape {
	case timeShape:
		return isTime(text) && (f.decorator != Time || string(text[len(timeForm)-5:]) == string(p.zone[:]))
	case secondsShape:
		return isSeconds(text)
	case levelShape:
		return levelOf(text) != Unknown
	case nameShape:
		return shapeOf(text) == nameShape && bytes.IndexByte(text, ']') < 0
	case emptyShape, wordShape, tagsShape:
		s := shapeOf(text)
		return s == f.shape || f.decorator == Tags && (s == emptyShape || s == wordShape || s == tagsShape)
	}
	return shapeOf(text) == f.shape
}
