package hindsight

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

const (
	magic       = "ullhind1"
	headBytes   = 68
	atChecked   = 12
	maxName     = 255
	maxFrame    = segment.FrameBytes + 4<<10 // a frame of incompressible bytes
	maxLineSize = segment.FrameBytes
)

// Batch holds lines of one stream that are held together.
type Batch struct {
	Stream string

	// The lines were written after Since: everything written before then was read before these
	// lines. Read is when the last of the lines was read.
	Since, Read time.Time

	Lines [ul.NumLevels]uint32 // number of lines that end in Raw, by level
	Raw   []byte               // at most [segment.FrameBytes]
}

// A Record is a [Batch] in the log. Raw and Frame are valid until the next call of a
// method of the log.
type Record struct {
	Batch
	Frame []byte // the lines as one zstd frame

	head
}

// Size returns the length of the lines in bytes.
func (r *Record) Size() int { return int(r.raw) }

// head is a record without its lines.
type head struct {
	stream            string
	since, read       int64
	lines             [ul.NumLevels]uint32
	raw, frame, check uint32
	at                int64 // where the record begins
}

// end returns where the record ends in the file.
func (h *head) end() int64 { return h.at + headBytes + int64(len(h.stream)) + int64(h.frame) }

// append appends the head to b.
func (h *head) append(b []byte) []byte {
	le := binary.LittleEndian
	begin := len(b)
	b = append(b, magic...)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, h.check)
	b = le.AppendUint32(b, h.frame)
	b = le.AppendUint32(b, h.raw)
	b = le.AppendUint64(b, uint64(h.since))
	b = le.AppendUint64(b, uint64(h.read))
	for _, n := range h.lines {
		b = le.AppendUint32(b, n)
	}
	b = le.AppendUint16(b, uint16(len(h.stream)))
	b = append(b, 0, 0)
	b = append(b, h.stream...)
	le.PutUint32(b[begin+len(magic):], position.Checksum(b[begin+atChecked:]))
	return b
}

var errRecord = errors.New("not a record of the hindsight")

// parseHead parses the head at the beginning of b, which may be longer.
func parseHead(b []byte) (h head, err error) {
	le := binary.LittleEndian
	if len(b) < headBytes || string(b[:len(magic)]) != magic {
		return h, errRecord
	}
	name := int(le.Uint16(b[64:]))
	if name == 0 || name > maxName || len(b) < headBytes+name {
		return h, errRecord
	}
	if le.Uint32(b[len(magic):]) != position.Checksum(b[atChecked:headBytes+name]) {
		return h, errRecord
	}
	h = head{check: le.Uint32(b[12:]), frame: le.Uint32(b[16:]), raw: le.Uint32(b[20:]),
		since: int64(le.Uint64(b[24:])), read: int64(le.Uint64(b[32:])), stream: string(b[headBytes : headBytes+name])}
	lines := uint64(0)
	for level := range h.lines {
		h.lines[level] = le.Uint32(b[40+4*level:])
		lines += uint64(h.lines[level])
	}
	if h.raw == 0 || h.raw > maxLineSize || h.frame == 0 || h.frame > maxFrame || lines > uint64(h.raw) || segment.ValidStream(h.stream) != nil {
		return head{}, errRecord
	}
	return h, nil
}
