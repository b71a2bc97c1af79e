package tail

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/statedir"
	"github.com/ullage/ullage/internal/ul"
)

const (
	// textName is the file, in the state directory, of lines that are kept while those
	// around them are dropped. In its place each of them keeps a whole page of
	// the source file in use; here they stand side by side.
	textName = "kept"

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
				s.warnOnce("compact", "moving kept lines together failed", "error", err, "hint", "each kept line keeps a page in use")
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
	if err := s.appendText(sum.text, out); err != nil {
		return err
	}
	s.countRead(f.stream, read)
	f.setGaps(slices.Replace(f.gaps, first, next, sum))
	return nil
}

// appendText writes text behind all that is there.
func (s *Source) appendText(t *text, out []byte) error {
	if err := s.openText(unix.O_CREAT); err != nil {
		return err
	}
	t.at, t.length = pageAfter(s.textEnd), int64(len(out))
	if _, err := s.text.WriteAt(out, t.at); err != nil {
		_ = s.text.Truncate(t.at) // a full tmpfs: the pages are needed
		return err
	}
	s.textEnd = t.at + t.length
	return nil
}

// pageAfter returns where the first page begins that has nothing before offset.
func pageAfter(offset int64) int64 {
	return (offset + position.PageSize - 1) &^ (position.PageSize - 1)
}

// textMemory is how much memory the texts of f take.
func (f *File) textMemory() (sum int64) {
	for i := range f.gaps {
		if t := f.gaps[i].text; t != nil {
			sum += pageAfter(t.length)
		}
	}
	return sum
}

// openText opens the file of texts.
func (s *Source) openText(create int) error {
	if s.text != nil {
		return nil
	}
	f, err := statedir.OpenFile(s.state, textName, create|unix.O_RDWR)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("stat %s: %w", textName, err)
	}
	s.text, s.textEnd = f, info.Size()
	return nil
}

// readText reads whole lines of the text of g, from an offset in it on.
func (s *Source) readText(g *gap, offset int64, area []byte) int {
	if err := s.openText(0); err != nil {
		return 0
	}
	left := g.text.length - offset
	if left <= 0 {
		return 0
	}
	n, err := unix.Pread(int(s.text.Fd()), area[:min(left, int64(len(area)))], g.text.at+offset)
	if err != nil || n <= 0 {
		return 0
	}
	if keep := bytes.LastIndexByte(area[:n], '\n') + 1; keep > 0 && int64(n) < left {
		n = keep
	}
	return n
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
	s.countDropped(f, ul.DropAll, t.kept, t.bytes)
	s.droppedText = append(s.droppedText, t)
	g.text = nil
	f.setGaps(f.gaps)
	return t.length
}

// freeText gives back the memory of a text that no gap has any more.
func (s *Source) freeText(t *text) { s.freeTexts(t.at, t.at+t.length) }

// freeTexts gives back the pages of the file of texts from one offset to
// another.
func (s *Source) freeTexts(from, to int64) {
	if from, to = pageAfter(from), pageAfter(to); to > from && s.openText(0) == nil {
		_ = unix.Fallocate(int(s.text.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	}
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
	for id := range s.waiting {
		gaps, _, _ := decodeGaps(s.saved[id].Gaps, s.saved[id].Position, mostGaps)
		collect(gaps)
	}
	if len(texts) == 0 && s.text == nil {
		if s.state != nil {
			_ = unix.Unlinkat(int(s.state.Fd()), textName, 0)
		}
		return
	}
	slices.SortFunc(texts, func(a, b *text) int { return cmp.Compare(a.at, b.at) })
	end := int64(0)
	for _, t := range texts {
		s.freeTexts(end, t.at)
		end = max(end, t.at+t.length)
	}
	if s.openText(0) == nil {
		s.freeTexts(end, s.textEnd)
	}
}
