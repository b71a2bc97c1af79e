package check

import "bytes"

// headBytes is how much of a line is looked at and held. All decorations together are at
// most 1 KiB.
const headBytes = 64 << 10

// lines cuts a stream into lines, whatever pieces it comes in, and hands on the
// beginning of each line, without its newline, and what is known to follow.
type lines struct {
	take func(head, rest []byte)
	held []byte // the beginning of a line whose end has not come yet
	rest bool   // the present line was handed on, and has not ended
}

// write processes the next bytes of the stream.
func (l *lines) write(raw []byte) {
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, '\n')
		if end < 0 {
			l.hold(raw)
			return
		}
		switch {
		case l.rest:
			l.rest = false
		case len(l.held) > 0:
			l.hold(raw[:end])
			l.finish(raw[end+1:])
		default:
			l.take(raw[:min(end, headBytes)], raw[end+1:])
		}
		raw = raw[end+1:]
	}
}

// hold keeps a part of a line, and hands the line on once enough of it is there.
func (l *lines) hold(part []byte) {
	if l.rest {
		return
	}
	l.held = append(l.held, part[:min(len(part), headBytes-len(l.held))]...)
	if len(l.held) == headBytes {
		l.end()
		l.rest = true
	}
}

// end ends the present line: it ends here, or bytes are missing here.
func (l *lines) end() { l.finish(nil) }

// finish is end, where rest is what is known to follow.
func (l *lines) finish(rest []byte) {
	if len(l.held) > 0 {
		l.take(l.held, rest)
		l.held = l.held[:0]
	}
	l.rest = false
}
