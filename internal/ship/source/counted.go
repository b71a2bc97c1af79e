package source

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// Counted is what of a content the metrics of reading have.
type Counted struct {
	To   int64  // the lines before this offset
	Rest bool   // the unterminated rest after the last line end
	cuts int64  // the lines before this offset that the JVM could not end
	last header // of these lines
}

// TakeCuts returns how many of the lines in data, which lies at offset, HotSpot
// began on a full tmpfs and could not end, and for how long no line came after
// them. It fills the page, gives up what did not fit, and writes its next message,
// once there is room, right after it. So such a line goes on at the beginning of a
// page with a prefix like that of the lines around it. Each page is looked at once.
//
// Data ends with a line end, unless a line is longer than what is read at once. A loss
// between two lines does not show: the next line is like any other.
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

// header is what is kept of a line with decorations. The zero value means that there is
// none.
type header struct {
	present ul.Decorator
	clock   time.Duration // since 1970 or, without a date, since the JVM's start; 0: unknown
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

// lastHeader returns the last header in data, or before if there is none among its last
// lines.
func lastHeader(data []byte, before header) header {
	const most = 64 // further lines of one message
	for end, n := len(data), 0; end > 0 && n < most; n++ {
		begin := bytes.LastIndexByte(data[:end-1], '\n') + 1
		if h := headerOf(lineAt(data, begin)); h.present != 0 {
			return h
		}
		end = begin
	}
	return before
}

// cutAt reports whether at data[i], inside a line, another one begins, and how much
// later: with a prefix of the same decorators as the line has, or else, if that was
// cut inside its own, as the last line before it that has any; before all of data that
// is h. What is only the rest of a prefix lacks the first of them.
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
