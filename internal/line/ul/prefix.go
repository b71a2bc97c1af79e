package ul

import "bytes"

const (
	maxFields = 16   // of a prefix: the twelve decorators, and room for newer ones
	maxPrefix = 1024 // bytes, up to the last closing bracket
)

// A field is the text between two brackets, without padding.
type field struct {
	start, end uint16
	decorator  Decorator // the decorator that the field was recognized as, or 0
	shape      shape
}

// A prefix has the decorations of a line, split at their brackets.
type prefix struct {
	fields [maxFields]field
	n      int
	end    int // offset of the message
	level  int // index of the last field that spells a level, or -1
	width  int // of the first field, padding included
}

// scan splits the line. It returns false, and leaves p unusable, if the line
// does not begin with contiguous bracketed fields and a space after them.
func (p *prefix) scan(line []byte) bool {
	p.n, p.level = 0, -1
	head := line[:min(len(line), maxPrefix)]
	for i := 0; i < len(head) && head[i] == '[' && p.n < maxFields; {
		width := bytes.IndexByte(head[i+1:], ']')
		after := i + width + 2
		if width < 0 || after >= len(line) {
			return false
		}
		p.add(line, i+1, after-1)
		switch line[after] {
		case ' ':
			p.end = after + 1
			return true
		case '[':
			i = after
		default:
			return false
		}
	}
	return false
}

// add appends the field line[start:end].
func (p *prefix) add(line []byte, start, end int) {
	if p.n == 0 {
		p.width = end - start
	}
	text := trim(line[start:end])
	f := field{start: uint16(start), end: uint16(start + len(text)), shape: shapeOf(text)}
	if f.shape == levelShape {
		p.level = p.n
	}
	p.fields[p.n] = f
	p.n++
}

// blank reports whether the prefix is that of a continuation line of JDK 24 and
// later: one pair of brackets with only spaces, at least one, as wide as the
// decorations above it.
func (p *prefix) blank() bool {
	return p.n == 1 && p.fields[0].shape == emptyShape && p.width > 0
}

// trim returns the text of a field without its padding.
func trim(text []byte) []byte {
	end := len(text)
	for end > 0 && text[end-1] == ' ' {
		end--
	}
	return text[:end]
}

func (f field) of(line []byte) []byte { return line[f.start:f.end] }
