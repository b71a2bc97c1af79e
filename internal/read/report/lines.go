package report

import (
	"bytes"
	"io"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// headBytes is how much of a line is looked at and held.
const headBytes = 64 << 10

// lines cuts a stream into lines, whatever blocks it comes in.
type lines struct {
	take  func(head []byte, whole bool) // receives a line without its newline, or the beginning of a long one
	held  []byte                        // the beginning of a line that has not ended
	long  bool                          // that line was handed on
	cut   bool                          // the line that is handed on has no newline
	hole  uint64                        // zero bytes at the beginning of lines: what a sidecar has reclaimed
	noted uint64                        // ... that the report has noted
}

// write cuts the next block.
func (l *lines) write(block []byte) {
	for len(block) > 0 {
		if block[0] == 0 && !l.long && len(l.held) == 0 {
			rest := bytes.TrimLeft(block, "\x00")
			l.hole += uint64(len(block) - len(rest))
			block = rest
			continue
		}
		end := bytes.IndexByte(block, '\n')
		switch {
		case end < 0:
			l.hold(block)
			return
		case l.long:
			l.long = false
		case len(l.held) > 0:
			if l.hold(block[:end]); !l.long {
				l.take(l.held, true)
			}
			l.held, l.long = l.held[:0], false
		default:
			l.take(block[:min(end, headBytes)], end <= headBytes)
		}
		block = block[end+1:]
	}
}

func (l *lines) hold(part []byte) {
	if l.long {
		return
	}
	l.held = append(l.held, part[:min(len(part), headBytes-len(l.held))]...)
	if len(l.held) == headBytes {
		l.take(l.held, false)
		l.held, l.long = l.held[:0], true
	}
}

// end ends the line that has no newline: the stream ends here, or bytes are missing.
func (l *lines) end() {
	if l.cut = true; len(l.held) > 0 {
		l.take(l.held, true)
	}
	l.held, l.long, l.cut = l.held[:0], false, false
}

// head is how a file begins.
type head struct {
	when  time.Time // zero: no date
	up    time.Duration
	timed bool // up is known
}

// readHead reads the first record of a file. What it cannot read is as a file without
// times: the error comes again when the file is read.
func readHead(path string) (h head) {
	f, err := openFile(path)
	if err != nil {
		return h
	}
	defer f.Close()
	var r ul.Record
	l := lines{take: func(line []byte, _ bool) {
		if h.timed || !h.when.IsZero() {
			return
		}
		if r.Parse(line); r.Kind == ul.Header {
			h.when, _ = r.When()
			h.up, h.timed = r.Since()
		}
	}}
	block := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, block)
	l.write(block[:n])
	return h
}
