// Package cut cuts the bytes of a stream, which arrive in pieces of any size, into lines.
// All readers of persisted bytes use it, so that they find the same lines.
package cut

import (
	"bytes"
	"iter"
)

// HeadBytes is how much of a line is examined, and therefore the most that [Lines] holds of a
// line. The decorations of a line are at most 1 KiB long.
const HeadBytes = 64 << 10

// First returns the length of the first line of data with its newline, and true. If the
// line is longer than most, First returns most and false. If data is too short to tell, it
// returns zero.
func First(data []byte, most int) (n int, ends bool) {
	if n = bytes.IndexByte(data[:min(len(data), most)], '\n') + 1; n > 0 {
		return n, true
	}
	if len(data) >= most {
		return most, false
	}
	return 0, false
}

// Lines cuts a stream:
//
//	Feed → Next... → Feed → Next... → End → Next...
//
// It holds at most HeadBytes of a line whose end it has not received. The zero value is at
// the beginning of a line.
type Lines struct {
	SkipHoles bool   // leave out zero bytes at the beginning of a line, as in a partly reclaimed file
	Holes     uint64 // zero bytes that were left out

	rest []byte // fed, not yet returned
	held []byte // the beginning of a line, fed before rest
	used bool   // held was returned
	amid bool   // inside a line whose beginning was returned
	over bool   // the line in held, or returned in part, ends here
}

// Piece is a whole line, or a part of a line of more than HeadBytes.
type Piece struct {
	Text  []byte // with the newline, if there is one
	First bool   // it begins a line and has all of it, or at least HeadBytes
	Last  bool   // it ends its line, without a newline if bytes are missing
}

// Head returns the text without its newline.
func (p Piece) Head() []byte {
	if n := len(p.Text); n > 0 && p.Text[n-1] == '\n' {
		return p.Text[:n-1]
	}
	return p.Text
}

// Broken reports whether the line ends here because bytes are missing after it.
func (p Piece) Broken() bool { return p.Last && (len(p.Text) == 0 || p.Text[len(p.Text)-1] != '\n') }

// Feed adds raw, the next bytes of the stream, which must not change until Next returns false.
func (l *Lines) Feed(raw []byte) { l.rest = raw }

// End ends an incomplete line: the stream ends here, or bytes are missing before the next
// fed bytes.
func (l *Lines) End() { l.over = true }

// Between reports whether all fed bytes were returned and the last line has ended.
func (l *Lines) Between() bool {
	return len(l.rest) == 0 && (len(l.held) == 0 || l.used) && !l.amid && !l.over
}

// Heads calls Next until it returns false and yields the first piece of each line.
func (l *Lines) Heads() iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		for p, ok := l.Next(); ok; p, ok = l.Next() {
			if p.First && !yield(p) {
				return
			}
		}
	}
}

// Rest returns the fed bytes that Next has not returned yet.
func (l *Lines) Rest() []byte { return l.rest }

// Next returns the next piece, which is valid until the next call. It returns false if it
// needs more bytes.
func (l *Lines) Next() (Piece, bool) {
	if l.used {
		l.held, l.used = l.held[:0], false
	}
	if l.over {
		l.over = false
		switch {
		case len(l.held) > 0:
			l.used = true
			return Piece{l.held, true, true}, true
		case l.amid:
			l.amid = false
			return Piece{nil, false, true}, true
		}
	}
	if l.SkipHoles && !l.amid && len(l.held) == 0 && len(l.rest) > 0 && l.rest[0] == 0 {
		rest := bytes.TrimLeft(l.rest, "\x00")
		l.Holes += uint64(len(l.rest) - len(rest))
		l.rest = rest
	}
	n, ends := First(l.rest, HeadBytes-len(l.held))
	switch {
	case n > 0:
	case len(l.rest) == 0:
		l.rest = nil // even an empty slice would keep its array in memory
		return Piece{}, false
	case l.amid:
		n = len(l.rest)
	default:
		l.held, l.rest = append(l.held, l.rest...), nil
		return Piece{}, false
	}
	text := l.rest[:n]
	l.rest = l.rest[n:]
	if len(l.held) > 0 {
		l.held, l.used = append(l.held, text...), true
		text = l.held
	}
	p := Piece{text, !l.amid, ends}
	l.amid = !ends
	return p, true
}
