package ring

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

const (
	blockBytes = 128 << 10 // bytes of the ring to read at once
	enoughText = 256 << 10 // once a step has this much text, it begins no further record

	// mostText bounds the text of one step: each byte of the last record may become four bytes and a
	// tab, and a marker may follow.
	mostText = enoughText + 5*maxPayload + 64<<10
)

// A renderer writes the records of one ring as lines.
//
//	[2026-11-21T10:49:00.123+0000][5001000001ns][99][info][event] 17 after connect
//
// The decorations are UL's: time, timenanos, thread, level, tags. The thread has Java's number, unlike in UL, which
// has the operating system's.
type renderer struct {
	file      *file
	ahead     func() int64 // wallAhead
	shift     int64        // added to dates because the wall clock was set; see entry.anchor
	templates templates

	// stamp is the beginning of each record whose time is at least since and less than until, while dates are shifted
	// by stamped. It consists of the date, and of the nanoseconds without their last six digits.
	stamp                 []byte
	since, until, stamped int64
}

// record appends the line or lines of a complete record that is not a pad. Lines in an application's own layout stay
// unchanged, as in a file that the application writes itself.
func (r *renderer) record(out, rec []byte, w word) []byte {
	nanos := int64(le.Uint64(rec[timeAt:]))
	if w.kind == kindOwn {
		out = append(append(out, bytes.TrimRight(rec[payloadAt:payloadAt+w.n], "\r\n")...), '\n')
	} else {
		out = r.decorated(out, rec, w, nanos)
	}
	if w.flags&flagCut != 0 {
		out = ul.AppendShortened(out, time.Unix(0, r.file.offset+r.shift+nanos), w.level)
	}
	return out
}

// decorated appends the record with its decorations.
func (r *renderer) decorated(out, rec []byte, w word, nanos int64) []byte {
	out = append(r.clocks(out, nanos), "ns]["...)
	out = strconv.AppendUint(out, uint64(le.Uint32(rec[threadAt:])), 10)
	out = append(out, levelTag[w.level]...)
	return r.message(out, rec, w)
}

// message appends the text after the decorations, and a newline.
func (r *renderer) message(out, rec []byte, w word) []byte {
	id, payload := le.Uint32(rec[idAt:]), rec[payloadAt:payloadAt+w.n]
	switch w.kind {
	case kindText:
		out = strconv.AppendInt(out, int64(int32(id)), 10)
		if w.n > 0 {
			out = appendEscaped(append(out, ' '), payload)
		}
	case kindLongs:
		out = r.templates.expand(out, int(id), payload)
	case kindLine:
		first := payload[:min(int(id), w.n)]
		out = appendEscaped(out, first)
		if len(first) < w.n {
			out = appendFurther(append(out, '\n'), payload[len(first):])
		}
	}
	return append(out, '\n')
}

// levelTag ends the decorations after the thread.
var levelTag = func() (tags [ul.NumLevels]string) {
	for l := range tags {
		tags[l] = fmt.Sprintf("][%s][event] ", ul.Level(l))
	}
	return tags
}()

// appendFurther appends the further lines of a record. A further line must not look like the
// first line of another record, be it an event or a record in an application's format.
func appendFurther(out, text []byte) []byte {
	for {
		end := bytes.IndexByte(text, '\n')
		line := text
		if end >= 0 {
			line = text[:end]
		}
		begin := len(out)
		out = appendEscaped(out, line)
		if shown := out[begin:]; len(shown) > 0 && shown[0] == '[' || format.Begins(shown) {
			out = slices.Insert(out, begin, '\t')
		}
		if end < 0 {
			return out
		}
		out = append(out, '\n')
		text = text[end+1:]
	}
}

// clocks appends a record's time on both clocks: UL's time decoration in UTC, and the beginning of its timenanos. In
// a flood, many records share the stamp of a millisecond.
func (r *renderer) clocks(out []byte, nanos int64) []byte {
	const milli = int64(time.Millisecond)
	if nanos < milli {
		return strconv.AppendInt(append(r.date(out, nanos), '['), nanos, 10)
	}
	if nanos < r.since || nanos >= r.until || r.shift != r.stamped {
		r.stamp = strconv.AppendInt(append(r.date(r.stamp[:0], nanos), '['), nanos/milli, 10)
		wall := (r.file.offset + r.shift + nanos) % milli // milliseconds of the two clocks begin at different moments
		if wall < 0 {
			wall += milli
		}
		r.since = nanos - min(nanos%milli, wall)
		r.until = nanos + milli - max(nanos%milli, wall)
		r.stamped = r.shift
	}
	out = append(out, r.stamp...)
	out = append(out, "000000"...)
	for rest, i := uint32(nanos%milli), len(out)-1; rest > 0; rest, i = rest/10, i-1 {
		out[i] += byte(rest % 10)
	}
	return out
}

// date appends the date of a record.
func (r *renderer) date(out []byte, nanos int64) []byte {
	return time.Unix(0, r.file.offset+r.shift+nanos).UTC().AppendFormat(out, "["+ul.TimeLayout+"]")
}

// appendEscaped appends text as a part of one line. Tabs stay, line feeds and carriage returns
// become \n and \r, and other control characters become sequences such as \x1b. A backslash is
// not escaped, because the text is for humans.
func appendEscaped(out, text []byte) []byte {
	for {
		n := plain(text)
		out = append(out, text[:n]...)
		if n == len(text) {
			return out
		}
		switch c := text[n]; c {
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			const hex = "0123456789abcdef"
			out = append(out, '\\', 'x', hex[c>>4], hex[c&15])
		}
		text = text[n+1:]
	}
}

// plain returns how many bytes at the beginning of text need no escape.
func plain(text []byte) int {
	for i := 0; i < len(text); i++ {
		// Examine eight bytes at a time while all of them are plain. The high bit of a byte is set if
		// the byte is below 0x20, or 0x7f.
		const ones, high = 0x0101010101010101, 0x8080808080808080
		for ; i+8 <= len(text); i += 8 {
			x := le.Uint64(text[i:])
			del := x ^ 0x7f*ones
			if found := ((x-0x20*ones)&^x | (del-ones)&^del) & high; found != 0 {
				i += bits.TrailingZeros64(found) / 8 // only the lowest set bit is reliable
				break
			}
		}
		if i == len(text) {
			break
		}
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return i
		}
	}
	return len(text)
}

// templates holds the texts to which records with numbers refer. The JVM only appends to them.
type templates struct {
	file  *file
	texts [][]byte
	end   int // offset of the first unread template in the file
}

// expand appends the template with the given ordinal, counted from 1, with a number in place of each {}.
// Numbers for which the text has no {} follow it. If there is no such template, all numbers follow the
// ordinal.
func (t *templates) expand(out []byte, id int, numbers []byte) []byte {
	text := t.text(id)
	if text == nil {
		out = append(out, '#')
		out = strconv.AppendUint(out, uint64(uint32(id)), 10)
	}
	for ; len(numbers) >= 8; numbers = numbers[8:] {
		n := int64(le.Uint64(numbers))
		place := bytes.Index(text, []byte("{}"))
		if place < 0 {
			out = append(append(out, text...), ' ')
			text = nil
		} else {
			out = append(out, text[:place]...)
			text = text[place+2:]
		}
		out = strconv.AppendInt(out, n, 10)
	}
	return append(out, text...)
}

// text returns a template, escaped, or nil if it does not exist. A template is in the file before
// the first record that uses it is complete.
func (t *templates) text(id int) []byte {
	for len(t.texts) < id && t.readNext() {
	}
	if id < 1 || id > len(t.texts) {
		return nil
	}
	return t.texts[id-1]
}

// readNext reads one more template, and reports whether there was one.
func (t *templates) readNext() bool {
	t.end = max(t.end, templatesAt)
	var size [2]byte
	if t.end+len(size) > dataAt || t.file.read(t.file.fd, size[:], int64(t.end)) != nil {
		return false
	}
	n := int(le.Uint16(size[:]))
	if n == 0 || n > maxTemplate || t.end+len(size)+n > dataAt {
		return false
	}
	text := make([]byte, n)
	if t.file.read(t.file.fd, text, int64(t.end+len(size))) != nil {
		return false
	}
	t.texts = append(t.texts, appendEscaped(nil, text))
	t.end += len(size) + n
	return true
}
