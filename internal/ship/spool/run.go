package spool

import (
	"encoding/binary"

	"github.com/ullage/ullage/internal/line/ul"
)

// A run is a stretch of lines that are not kept (the rest), followed by a stretch of kept lines.
// Either may be empty.
type run struct {
	rest  uint32 // bytes
	lines [ul.NumLevels]uint32
	kept  uint32 // bytes
}

// append appends the encoded run to b. It writes the length of the rest, a bit set of the levels
// that have lines there, their line counts, and the length of the kept stretch.
func (r *run) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(r.rest))
	set := byte(0)
	for level, n := range r.lines {
		if n > 0 {
			set |= 1 << level
		}
	}
	b = append(b, set)
	for _, n := range r.lines {
		if n > 0 {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return binary.AppendUvarint(b, uint64(r.kept))
}
