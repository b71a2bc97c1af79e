package tail

import (
	"bytes"

	"github.com/ullage/ullage/internal/ul"
)

// cutHole looks whether the NUL bytes in area are a hole of f. Nobody wrote a
// hole: it is stepped over, and what stands before it is handed on. cut says
// that this was done.
func (s *Source) cutHole(f *File, area []byte, n int) (int, Chunk, bool, error) {
	start := f.read.Offset
	data, err := f.nextData(start)
	if err != nil {
		return 0, Chunk{}, false, err
	}
	if r := f.records.next(start); r != nil {
		data = min(data, r.From) // what the record stands for is a hole as well
	}
	if data > start {
		return s.stepOver(f, area, data)
	}
	hole, err := f.nextHole(start)
	if err != nil {
		return 0, Chunk{}, false, err
	}
	f.solid = hole
	if hole <= start {
		return 0, Chunk{}, true, nil // it was punched just now: the next read sees that
	}
	if hole >= start+int64(n) {
		return 0, Chunk{}, false, nil
	}
	// Whole lines before the hole first; then what it cuts off.
	before := area[:hole-start]
	if keep := bytes.LastIndexByte(before, '\n') + 1; keep > 0 {
		before = before[:keep]
	}
	n, c, err := s.take(f, before)
	return n, c, true, err
}

// stepOver moves the read position to data, over a hole. A line that the hole
// cuts off is ended.
func (s *Source) stepOver(f *File, area []byte, data int64) (int, Chunk, bool, error) {
	s.metrics.holeBytes.Add(float64(data - f.read.Offset))
	first := f.read.Offset >= f.counted
	open := f.read.Open
	f.jump(data)
	f.read.Open = false
	f.counted = max(f.counted, data)
	if open {
		var lines [ul.NumLevels]uint32
		lines[f.openLevel]++
		area[0] = '\n'
		return 1, s.chunk(f, lines, 0, 0, first), true, nil
	}
	n, c, err := s.nextChunk(f, area)
	return n, c, true, err
}
