package cat

import "bytes"

// headBytes is how much of a line is examined, and so the most that is in memory of it.
// All decorations together are at most 1 KiB.
const headBytes = 64 << 10

// lines cuts the bytes of one stream into lines. It receives the bytes in pieces of any
// size, and holds at most headBytes of a line whose end it has not received:
//
//	feed → next... → feed → next... → end → next
//
// The zero value is at the beginning of a line.
type lines struct {
	rest []byte // fed, and not returned
	held []byte // the beginning of a line, fed before rest
	used bool   // held was returned
	amid bool   // inside a line whose beginning was returned
	cut  bool   // the line that is held or returned in part ends here
}

// piece is a whole line with its newline or, of a line of more than headBytes, a part.
type piece struct {
	text  []byte
	first bool // it begins a line: with the whole line or at least headBytes of it
	last  bool // it ends its line, though without a newline where bytes are missing
}

// feed continues with raw, which must not change until next returns false.
func (l *lines) feed(raw []byte) { l.rest = raw }

// end ends the line that is not complete: the stream ends here, or bytes are missing
// before those that are fed next.
func (l *lines) end() { l.cut = true }

// next returns the next piece, which is valid until the next call. It returns false if
// it needs more bytes.
func (l *lines) next() (piece, bool) {
	if l.used {
		l.held, l.used = l.held[:0], false
	}
	if l.cut {
		l.cut = false
		switch {
		case len(l.held) > 0:
			l.used = true
			return piece{l.held, true, true}, true
		case l.amid:
			l.amid = false
			return piece{nil, false, true}, true
		}
	}
	room := min(headBytes-len(l.held), len(l.rest))
	n := bytes.IndexByte(l.rest[:room], '\n') + 1
	ends := n > 0
	switch {
	case ends:
	case len(l.rest) == 0:
		l.rest = nil // not even an empty slice keeps a frame in memory
		return piece{}, false
	case len(l.held)+room < headBytes && !l.amid:
		l.held, l.rest = append(l.held, l.rest...), nil
		return piece{}, false
	default:
		n = room
	}
	text := l.rest[:n]
	l.rest = l.rest[n:]
	if len(l.held) > 0 {
		l.held, l.used = append(l.held, text...), true
		text = l.held
	}
	p := piece{text, !l.amid, ends}
	l.amid = !ends
	return p, true
}
