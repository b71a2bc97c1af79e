package source

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// Counted is the part of a content that is already counted in the read metrics.
type Counted struct {
	To   int64  // the lines before this offset
	Rest bool   // the unterminated rest after the last line end
	cuts int64  // the cut lines before this offset, which the JVM could not complete
	last header // the last header before that offset
}

// TakeCuts returns how many lines in data HotSpot began on a full tmpfs and could not complete, and
// how long it took until another line followed. offset is where data begins. HotSpot fills
// the page and discards the rest of the message. Once there is room, it writes its next message
// at the same place. So at the beginning of a page, such a line continues with a prefix like
// those of the lines around it. Each page is examined once.
//
// Data ends with a line end, unless a line is longer than one read. A loss between two
// lines does not show: the next line is like any other.
func (c *Counted) TakeCuts(data []byte, offset int64, open bool) (cuts int, lost time.Duration) {
	for page := position.PageAfter(offset); page < offset+int64(len(data)); page += position.PageSize {
		i := int(page - offset)
		inside := i == 0 && open || i > 0 && data[i-1] != '\n'
		if page < c.cuts || !inside || data[i] != '[' {
			continue
		}
		if took, is := c.last.cutAt(data, i); is {
			cuts, lost = cuts+1, lost+took
		}
	}
	c.cuts = max(c.cuts, offset+int64(len(data)))
	c.last = lastHeader(data, c.last)
	return cuts, lost
}

// header is the decorators and the time of a line with decorations. The zero value means that
// there is no such line.
type header struct {
	present ul.Decorator
	clock   time.Duration // since 1970 or, without a date, since the start of the JVM; 0: unknown
}

func headerOf(line []byte) (h header) {
	var r ul.Record
	if r.Parse(line); r.Kind != ul.Header {
		return header{}
	}
	h.present = r.Present
	if when, ok := r.When(); ok {
		h.clock = time.Duration(when.UnixNano())
	} else if up, ok := r.Since(); ok {
		h.clock = up
	}
	return h
}

// lastHeader returns the last header in data. If the last lines of data have none, it returns
// before.
func lastHeader(data []byte, before header) header {
	const most = 64 // number of further lines of one message
	for end, n := len(data), 0; end > 0 && n < most; n++ {
		begin := bytes.LastIndexByte(data[:end-1], '\n') + 1
		if h := headerOf(lineAt(data, begin)); h.present != 0 {
			return h
		}
		end = begin
	}
	return before
}

// cutAt reports whether a new line begins at data[i], inside another line, and how much later the
// new line was written. The prefix of the new line must have the same decorators as the line around
// it. If the line around it was cut inside its prefix, cutAt compares with the last earlier line
// that has decorations, or with h if data has no such line. A prefix that merely continues at
// data[i] is not mistaken for the beginning of a line, because it lacks the first decorators.
func (h header) cutAt(data []byte, i int) (took time.Duration, is bool) {
	glued := headerOf(lineAt(data, i))
	if glued.present == 0 {
		return 0, false
	}
	start := bytes.LastIndexByte(data[:i], '\n') + 1
	own := headerOf(data[start:i])
	if own.present == 0 {
		own = lastHeader(data[:start], h)
	}
	if own.present != glued.present {
		return 0, false
	}
	if own.clock == 0 {
		return 0, true
	}
	return max(0, glued.clock-own.clock), true
}

// lineAt returns the line that begins at data[i], without its newline.
func lineAt(data []byte, i int) []byte {
	line, _, _ := bytes.Cut(data[i:], []byte{'\n'})
	return line
}
