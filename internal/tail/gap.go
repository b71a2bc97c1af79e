package tail

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// A gap is a run of lines of one file that were dropped before they were handed
// on. Reading jumps over it, and hands on a marker line in its place.
//
// A gap has one whole page at least, or it would give back nothing; so between
// two gaps there is one at least that stays, and there are never more gaps than
// pages in use. Where they become many, text takes the place of some of them.
type gap struct {
	start int64
	end   position.Position
	ul.Gap
	text      *text // what is handed on in place of the marker. Nil: the marker
	unpunched bool  // has pages that were not given back
}

// pages returns how many bytes of whole pages the gap has from which offset on.
// The page with the last byte stays: it tells the position behind the gap from
// that of a rewritten file.
func (g *gap) pages() (from, to int64) {
	from, to = position.PageAfter(g.start), position.PageBefore(g.end.Offset)
	return from, max(from, to)
}

func (g *gap) frees() int64 {
	from, to := g.pages()
	return to - from
}

// intact reports whether the gap is still one of what is in the file: the bytes
// before its end are those that were dropped, and what was given back is not
// written again. Two logs may well have the same bytes at the same place.
func (f *File) intact(g *gap) bool {
	if !f.holds(g.end) {
		return false
	}
	from, to := g.pages()
	if g.unpunched || from == to {
		return true
	}
	data, err := f.nextData(from)
	return err == nil && data >= to
}

// gapAt returns the index of the first gap that begins at or behind offset.
func (f *File) gapAt(offset int64) int {
	at, _ := slices.BinarySearchFunc(f.gaps, offset, func(g gap, offset int64) int {
		if g.start < offset {
			return -1
		}
		return 1
	})
	return at
}

// nextGap returns the gap that reading comes to next, or nil.
func (f *File) nextGap() *gap {
	if at := f.gapAt(f.read.Offset); at < len(f.gaps) {
		return &f.gaps[at]
	}
	return nil
}

// gapOver returns the gap that offset lies in, or nil.
func (f *File) gapOver(offset int64) *gap {
	at := f.gapAt(offset + 1)
	if at > 0 && f.gaps[at-1].end.Offset > offset {
		return &f.gaps[at-1]
	}
	return nil
}

// untold reports whether nothing of the gap was handed on.
func (f *File) untold(g *gap) bool {
	return g.start > f.read.Offset || g.start == f.read.Offset && f.read.Text == 0
}

// untilGap returns n, or less if a gap begins before the n-th byte to read.
func (f *File) untilGap(n int) int {
	if g := f.nextGap(); g != nil {
		return int(min(int64(n), g.start-f.read.Offset))
	}
	return n
}

// endsAtGap reports whether a gap begins behind the next n bytes.
func (f *File) endsAtGap(n int) bool {
	g := f.nextGap()
	return g != nil && g.start == f.read.Offset+int64(n)
}

// touches reports whether a gap from start to end would be a part of another
// one, which has no text and was not told of.
func (f *File) touches(start, end int64) (before, behind bool) {
	at := f.gapAt(start)
	before = at > 0 && f.gaps[at-1].end.Offset == start && f.gaps[at-1].text == nil && f.untold(&f.gaps[at-1])
	behind = at < len(f.gaps) && f.gaps[at].start == end && f.gaps[at].text == nil
	return before, behind
}

// addGap makes g a gap of f, or a part of the ones that it touches. It returns
// how many bytes can be given back that could not before.
func (f *File) addGap(g gap) (freed int64) {
	g.unpunched = true
	at := f.gapAt(g.start)
	before, behind := f.touches(g.start, g.end.Offset)
	from, to := at, at
	if before {
		from--
		g.start = f.gaps[from].start
		g.Gap.Add(f.gaps[from].Gap)
		freed -= f.gaps[from].frees()
	}
	if behind {
		g.end = f.gaps[to].end
		g.Gap.Add(f.gaps[to].Gap)
		freed -= f.gaps[to].frees()
		to++
	}
	f.setGaps(slices.Replace(f.gaps, from, to, g))
	return freed + g.frees()
}

// setGaps makes gaps those of f.
func (f *File) setGaps(gaps []gap) {
	f.gapsChanged = f.gapsChanged || len(f.gaps) > 0 || len(gaps) > 0
	f.gaps, f.gapBytes = gaps, 0
	for i := range gaps {
		f.gapBytes += gaps[i].end.Offset - gaps[i].start
		if t := gaps[i].text; t != nil {
			f.gapBytes -= t.length
		}
	}
}

// passed forgets the gaps before offset: their markers are durable.
func (s *Source) passed(f *File, offset int64) {
	var texts []*text
	n := 0
	for n < len(f.gaps) && f.gaps[n].end.Offset <= offset {
		if t := f.gaps[n].text; t != nil {
			texts = append(texts, t)
		}
		n++
	}
	if n > 0 {
		f.setGaps(slices.Delete(f.gaps, 0, n))
	}
	for _, t := range texts {
		s.text.free(t)
	}
}

// ChangedGaps calls each for the files whose gaps are others than at the last
// call, with these as a checkpoint keeps them; and for those that came back and
// are not held, since the checkpoint may have forgotten them.
func (s *Source) ChangedGaps(each func(id position.Identity, saved Saved)) {
	for id, f := range s.files {
		if f.gapsChanged {
			f.gapsChanged = false
			each(id, Saved{Stream: f.stream.name, Position: f.committed, Gaps: encodeGaps(f.gaps, f.untoldOrphan()), Epoch: f.epoch})
		}
	}
	for id := range s.absent.back {
		each(id, s.absent.saved[id])
	}
	clear(s.absent.back)
}

// Gaps returns how many gaps there are whose markers are not durable.
func (s *Source) Gaps() (n int) {
	for _, f := range s.files {
		n += len(f.gaps)
	}
	return n
}

// passGap hands on what stands in the place of g, which lies at the read
// position: the marker, or a part of the text. Behind the last of it, the read
// position is behind the gap. No bytes mean that it is to be looked at again.
//
// The lines behind a marker go into the same chunk, if there are any yet: when a
// checkpoint is lost, [Source.Align] can only look up what is persisted behind
// the last marker.
func (s *Source) passGap(f *File, g *gap, area []byte) (int, Chunk, error) {
	var lines [ul.NumLevels]uint32
	out, made := area[:0], 0
	if f.read.Open {
		out = append(out, '\n') // the line is counted as dropped
	}
	if g.text == nil {
		out = g.AppendMarker(out)
		made = len(out)
	} else if n := s.text.read(g.text, f.read.Text, area[len(out):]); n > 0 {
		out = area[:len(out)+n]
		made = s.countText(f, out, &lines)
		f.read.Text += int64(n)
	} else {
		s.loseText(f, g)
		return 0, Chunk{}, nil
	}
	f.read.Open = false
	if g.text == nil || f.read.Text >= g.text.length {
		if err := f.jumpTo(g.end); err != nil {
			return 0, Chunk{}, err
		}
		f.read.Open = false // of a line that goes on behind the gap nothing is handed on
		f.stream.class.Resume(g.end.Level)
	}
	f.counted = max(f.counted, f.read.Offset)
	if len(out) == 0 {
		return 0, Chunk{}, nil // no more than a piece of a line that was told of before
	}
	c := s.chunk(f, lines, 0, 0, false)
	c.Made = made
	rest := area[len(out):]
	if next := f.nextGap(); len(rest) < s.cfg.LineLimit+ul.MaxMarkerBytes+2 || next != nil && next.start == f.read.Offset {
		return len(out), c, nil
	}
	n, behind, err := s.nextLines(f, rest)
	if n == 0 || err != nil {
		return len(out), c, nil // an error comes again
	}
	behind.Made += c.Made
	for level, n := range c.Lines {
		behind.Lines[level] += n
	}
	return len(out) + n, behind, nil
}

// passOrphan hands on the marker of what was dropped in f before it was
// truncated, in front of the first chunk of what is in it now.
func (s *Source) passOrphan(f *File, area []byte) (int, Chunk, error) {
	marker := f.orphan.AppendMarker(area[:0])
	sum := f.orphan
	f.orphan = ul.Gap{}
	n, c, err := s.nextChunk(f, area[len(marker):])
	if err == nil && n == 0 && f.size == 0 && s.mayEnd(f) {
		c = s.chunk(f, [ul.NumLevels]uint32{}, 0, 0, false) // nothing comes any more
	} else if n == 0 || err != nil {
		f.orphan.Add(sum)
		return 0, Chunk{}, err
	}
	f.telling = append(f.telling, told{f.epoch, c.End.Offset, sum})
	c.Made += len(marker)
	return len(marker) + n, c, nil
}

// jumpTo moves the read position to p, over bytes that were not read.
func (f *File) jumpTo(p position.Position) error {
	n, err := unix.Pread(f.fd, f.seen[:p.CheckLen], p.Offset-int64(p.CheckLen))
	if err != nil || n != p.CheckLen {
		return errRewritten
	}
	f.seenLen = n
	f.read, f.openLevel = p, p.Level
	f.ended, f.relevel = false, false
	return nil
}

// PunchGaps gives back the pages of the gaps, and text that is not needed any
// more. It is called when the gaps as they are now are recorded.
func (s *Source) PunchGaps() {
	for _, f := range s.files {
		for i := range f.gaps {
			if g := &f.gaps[i]; g.unpunched && f.intact(g) {
				from, to := g.pages()
				done := s.punchPages(f, from, to) >= to
				// With larger pages than ours some of it stays, as zeros.
				data, err := f.nextData(from)
				g.unpunched = !done || err != nil || data < to
			}
		}
	}
	s.text.freeDropped()
}
