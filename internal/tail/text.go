package tail

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

const (
	// compactAbove is how many gaps a file has at most before text takes the
	// place of all but compactLeaves, the newest, of which the last one still
	// grows.
	compactAbove  = 96
	compactLeaves = 8

	// compactRun bounds lines side by side that are moved. More of them make
	// good use of their pages.
	compactRun = 16 << 10
)

// A text stands in the place of a part of a source file: the markers of the
// gaps in it, and between them the lines that were kept, just as they will be
// handed on. It has pages of its own, and no place is ever used again while the
// process lives, so that it can be freed whatever others there are. It never
// changes. The application can write to it as it can to the log; it is read as
// that is.
type text struct {
	at, length int64
	kept       [ul.NumLevels]uint64 // lines in it that are the file's
	bytes      uint64               // of these
}

// Compact lets text take the place of old gaps and of the lines between them,
// where there are many, so that there are about half as many gaps as most, in
// all files. Nothing is given back yet, see [Source.PunchGaps].
func (s *Source) Compact(most int) {
	with := 1
	for _, f := range s.files {
		if len(f.gaps) > compactLeaves {
			with++
		}
	}
	above := min(compactAbove, max(compactLeaves+4, most/(2*with)))
	for _, f := range s.files {
		for at := s.firstUntold(f); len(f.gaps)-at > above; at++ {
			if err := s.compact(f, at, len(f.gaps)-compactLeaves); err != nil {
				s.log.once("compact", "moving kept lines together failed", "error", err, "hint", "each kept line keeps a page in use")
				return
			}
		}
	}
}

// firstUntold returns the index of the first gap that may be changed.
func (s *Source) firstUntold(f *File) int {
	at := f.gapAt(f.read.Offset)
	if at < len(f.gaps) && !f.untold(&f.gaps[at]) {
		at++
	}
	return at
}

// compact makes one gap with text of those from index first up to last, as far
// as the lines between them are few.
func (s *Source) compact(f *File, first, last int) error {
	sum := gap{start: f.gaps[first].start, text: &text{}, unpunched: true}
	var out []byte
	var class ul.Classifier
	var read volume // for the first time, and so shown
	next := first
	for ; next < last; next++ {
		g, behind := &f.gaps[next], f.gaps[next+1].start
		length := behind - g.end.Offset
		if g.end.Open || length > compactRun || g.text != nil {
			break
		}
		out = g.AppendMarker(out)
		n := len(out)
		out = slices.Grow(out, int(length))[:n+int(length)]
		if got, err := unix.Pread(f.fd, out[n:], g.end.Offset); err != nil || got != int(length) {
			return fmt.Errorf("read kept lines of %q: %w", f.name, errRewritten)
		}
		class.Resume(g.end.Level)
		fresh := g.end.Offset >= f.counted
		for line := range bytes.Lines(out[n:]) {
			c := class.Classify(bytes.TrimSuffix(line, newline))
			sum.text.kept[c.Level]++
			if !fresh {
				continue
			}
			read.lines[c.Level]++
			read.dropped += c.Dropped
			if s.cfg.OnLine != nil {
				s.cfg.OnLine(bytes.TrimSuffix(line, newline), c)
			}
		}
		if fresh {
			read.bytes += int(length)
		}
		sum.text.bytes += uint64(length)
		sum.Gap.Add(g.Gap)
	}
	if next-first < 2 {
		return nil
	}
	end, err := position.At(f.fd, f.gaps[next].start)
	if err != nil {
		return err
	}
	end.Level = class.Level()
	sum.end = end
	if err := s.text.append(sum.text, out); err != nil {
		return err
	}
	s.countRead(f.stream, read)
	f.setGaps(slices.Replace(f.gaps, first, next, sum))
	return nil
}

// textMemory is how much memory the texts of f take.
func (f *File) textMemory() (sum int64) {
	for i := range f.gaps {
		if t := f.gaps[i].text; t != nil {
			sum += position.PageAfter(t.length)
		}
	}
	return sum
}

// countText counts the lines in text that are the file's, and returns the bytes
// of the others.
func (s *Source) countText(f *File, out []byte, lines *[ul.NumLevels]uint32) (made int) {
	if f.relevel {
		f.relevel = false
		f.stream.class.Resume(f.read.Level)
	}
	for line := range bytes.Lines(out) {
		if g, ok := ul.ParseMarker(line); ok && g.Total() > 0 {
			made += len(line)
			continue
		}
		lines[f.stream.class.Classify(bytes.TrimSuffix(line, newline)).Level]++
	}
	return made
}

// loseText makes a plain gap of one whose text is gone: somebody deleted or cut
// the file.
func (s *Source) loseText(f *File, g *gap) {
	s.log.Error("kept lines are gone", "file", f.name, "bytes", g.text.bytes,
		"hint", "another process changed a file of the sidecar; the lines are counted as dropped")
	f.read.Text = 0
	s.dropText(f, g)
}

// dropText drops the lines that were kept in the text of g.
func (s *Source) dropText(f *File, g *gap) (freed int64) {
	t := g.text
	for level, n := range t.kept {
		g.Lines[ul.DropAll][level] += n
	}
	g.Bytes += t.bytes
	g.Last = s.now()
	s.metrics.dropped.add(f.stream.label, ul.DropAll, t.kept, t.bytes)
	s.text.dropped = append(s.text.dropped, t)
	g.text = nil
	f.setGaps(f.gaps)
	return t.length
}

// Tidy comes after the first Scan. It gives back what no gap has of the texts of
// an earlier process.
func (s *Source) Tidy() {
	var texts []*text
	collect := func(gaps []gap) {
		for i := range gaps {
			if t := gaps[i].text; t != nil {
				texts = append(texts, t)
			}
		}
	}
	for _, f := range s.files {
		collect(f.gaps)
	}
	for id := range s.absent.waiting {
		gaps, _, _ := decodeGaps(s.absent.saved[id].Gaps, s.absent.saved[id].Position, mostGaps)
		collect(gaps)
	}
	slices.SortFunc(texts, func(a, b *text) int { return cmp.Compare(a.at, b.at) })
	s.text.freeOthers(texts)
}
