package spool

import (
	"encoding/binary"

	"github.com/ullage/ullage/internal/line/ul"
)

// A run is a stretch of rest and the kept stretch after it. Either may be
// empty.
type run struct {
	rest  uint32 // bytes
	lines [ul.NumLevels]uint32
	kept  uint32 // bytes
}

// append appends the run: the bytes of rest, a set of the levels that have
// lines, their counts, the bytes of kept.
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

// parseRuns reads the runs at the end of the head of r. The runs must add up to
// the totals in the header, so that no reader of the runs leaves the parts. The
// stretches of rest must have room for their markers.
func (r *Record) parseRuns(runs []run, head []byte) ([]run, error) {
	rest := head[headerBytes+len(r.Stream):]
	next := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > mostMerged {
			rest = nil
			return 0
		}
		rest = rest[n:]
		return v
	}
	var kept, left, markers uint64
	var lines [ul.NumLevels]uint64
	for i := range r.runs {
		n := run{rest: uint32(next())}
		if len(rest) == 0 {
			return nil, errRecord
		}
		set := rest[0]
		rest = rest[1:]
		for level := range n.lines {
			if set&(1<<level) != 0 {
				n.lines[level] = uint32(next())
				lines[level] += uint64(n.lines[level])
			}
		}
		n.kept = uint32(next())
		if n.kept == 0 && i < r.runs-1 {
			return nil, errRecord
		}
		if n.rest > 0 {
			markers++
		}
		left, kept = left+uint64(n.rest), kept+uint64(n.kept)
		runs = append(runs, n)
	}
	for level, n := range lines {
		if n != uint64(r.parts[Rest].lines[level]) {
			return nil, errRecord
		}
	}
	if kept+markers*ul.MaxMarkerBytes > BlockBytes+ul.MaxMarkerBytes {
		return nil, errRecord // a reader has no room for more
	}
	if len(rest) != 0 || kept != uint64(r.parts[Kept].raw) || left != uint64(r.parts[Rest].raw) {
		return nil, errRecord
	}
	return runs, nil
}
