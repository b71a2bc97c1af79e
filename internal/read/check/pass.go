package check

import (
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
)

// pass counts a segment from the sum that its writer recorded. It returns false if that is not
// possible: the sum must be for exactly these bytes, and for a regular log that is entirely in
// the window. The result is then the same as if the lines were read, in a hundredth of the
// time.
func (s *stream) pass(seg segment.Info) bool {
	file, err := segment.OpenFile(seg)
	if err != nil {
		return false // reading the segment will report the error
	}
	defer file.Close()
	sum, ok := s.sums.Of(seg.Seq, seg.Start, file)
	r := sum.Regular
	if !ok || r == nil || seg.Size != sum.Size || !s.dates.Passes(r) {
		return false
	}
	if size, crc, err := segment.Checksum(file); err != nil || size != sum.Size || crc != sum.CRC {
		return false
	}
	s.dates.Pass(r)
	s.goOn(s.dates.Clock.Run())
	for level, n := range sum.Lines {
		s.run.Lines += n
		s.run.Levels[level] += n
	}
	s.run.span(r.First, false)
	s.run.span(r.Last, false)
	if r.Last.After(s.ends) {
		s.ends = r.Last
	}
	s.cuts.Find(r.Head, ul.Class{})
	done := int64(0)
	for _, other := range s.segs {
		if other.Seq <= seg.Seq {
			done += other.Size
		}
	}
	s.progress.At(done)
	return true
}
