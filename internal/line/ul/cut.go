package ul

import (
	"bytes"
	"time"
)

// Cuts finds the lines of one stream that a JVM could not end because its disk or tmpfs was
// full. HotSpot discards the bytes that do not fit. Once there is room, its next message
// follows without a line end. So another line begins inside such a line, with the same
// decorators, and whole lines may be missing between the two. Cuts must receive the lines in
// order. It finds nothing in a log whose first decorator is not a clock. The zero value is
// ready for a stream's first line. Cuts is not safe for concurrent use.
type Cuts struct {
	clock shape  // of the first decorator of the lines so far; zero: it is not a clock
	prev  []byte // the decorations of the last line that begins with a clock
	width int    // of that clock, brackets included

	own, next Record
}

// Find reports whether other lines begin inside the line, which must come without its newline.
// class is that of the line; without it, Find looks at more of the line. lost is the time from the
// line itself to the latest of the other lines: 0 if it is unknown, and never negative.
func (c *Cuts) Find(line []byte, class Class) (lost time.Duration, found bool) {
	clock := c.clock
	// Many lines begin with the same clock field as the line before them.
	if c.width == 0 || !bytes.HasPrefix(line, c.prev[:c.width]) {
		if clock = clockAt(line); clock != strangeShape {
			c.clock, c.width = clock, bytes.IndexByte(line, ']')+1
		}
	}
	from := 1
	if class.Whole {
		from = int(class.Message)
	}
	lost, found = c.find(line, from)
	if clock != strangeShape {
		c.prev = append(c.prev[:0], line[:min(len(line), maxPrefix)]...)
	}
	return lost, found
}

// find looks for the last line that begins inside the line, at from or later.
func (c *Cuts) find(line []byte, from int) (lost time.Duration, found bool) {
	for at := from; at < len(line) && c.clock != strangeShape; at++ {
		i := bytes.IndexByte(line[at:], '[')
		if i < 0 {
			break
		}
		at += i
		if c.clock == timeShape && (at+len(timeForm) >= len(line) || line[at+len("[2026")] != '-') {
			continue // the cheap part of clockAt
		}
		if clockAt(line[at:]) == c.clock && c.begins(line, at) {
			lost, found = max(lost, elapsed(&c.own, &c.next)), true
		}
	}
	return lost, found
}

// begins reports whether another line begins at line[at], with the same decorators as the line
// itself. If the line was cut inside its own decorators, begins compares them with the
// decorators of the previous line.
func (c *Cuts) begins(line []byte, at int) bool {
	c.next.Parse(line[at:])
	if c.next.Kind != Header {
		return false
	}
	if c.own.Parse(line[:at]); c.own.Kind != Header {
		c.own.Parse(c.prev)
	}
	return c.own.Kind == Header && c.own.Present == c.next.Present
}

// clockAt returns the shape of the bracketed field at the beginning of text if the field is a clock.
func clockAt(text []byte) shape {
	if len(text) < 2 || text[0] != '[' || !isDigit(text[1]) {
		return strangeShape
	}
	end := bytes.IndexByte(text[:min(len(text), len(timeForm)+2)], ']')
	if end < 0 {
		return strangeShape
	}
	switch s := shapeOfNumber(bytes.TrimRight(text[1:end], " ")); s {
	case timeShape, secondsShape, millisShape, nanosShape:
		return s
	}
	return strangeShape
}

// elapsed returns the time from one record to another of the same JVM, or 0 if it is unknown.
func elapsed(from, to *Record) time.Duration {
	a, dated := from.When()
	if b, ok := to.When(); ok && dated {
		return b.Sub(a)
	}
	up, ok := from.Since()
	if later, both := to.Since(); both && ok {
		return later - up
	}
	return 0
}
