package tail

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ul"
)

// A gap is a run of lines of one file that were dropped before they were handed
// on. Reading jumps over it, and hands on a marker line in its place.
//
// A gap has one whole page at least, or it would give back nothing; so between
// two gaps there is one at least that stays, and there are never more gaps than
// pages in use.
type gap struct {
	start int64
	end   Position
	ul.Gap
	unpunched bool // has pages that were not given back
}

// pages returns the whole pages of the gap that may be given back. The one with
// the last byte stays: it tells the position behind the gap from that of a
// rewritten file.
func (g *gap) pages() (from, to int64) { return pagesBetween(g.start, g.end.Offset) }

func pagesBetween(start, end int64) (from, to int64) {
	from, to = (start+pageSize-1)&^(pageSize-1), (end-1)&^(pageSize-1)
	return from, max(from, to)
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

// addGap makes g a gap of f, or a part of the ones that it touches. One whose
// marker was handed on already stays as it is.
func (f *File) addGap(g gap) {
	g.unpunched = true
	at := f.gapAt(g.start)
	if at > 0 {
		if before := &f.gaps[at-1]; before.end.Offset == g.start && before.start >= f.read.Offset {
			before.Gap.Add(g.Gap)
			g.start, g.Gap = before.start, before.Gap
			at--
			f.gaps = slices.Delete(f.gaps, at, at+1)
		}
	}
	if at < len(f.gaps) && f.gaps[at].start == g.end.Offset {
		g.Gap.Add(f.gaps[at].Gap)
		g.end = f.gaps[at].end
		f.gaps = slices.Delete(f.gaps, at, at+1)
	}
	f.setGaps(slices.Insert(f.gaps, at, g))
}

// setGaps makes gaps those of f.
func (f *File) setGaps(gaps []gap) {
	f.gapsChanged = f.gapsChanged || len(f.gaps) > 0 || len(gaps) > 0
	f.gaps, f.gapBytes = gaps, 0
	for i := range gaps {
		f.gapBytes += gaps[i].end.Offset - gaps[i].start
	}
}

// passed forgets the gaps before offset: their markers are durable.
func (f *File) passed(offset int64) {
	n := 0
	for n < len(f.gaps) && f.gaps[n].end.Offset <= offset {
		n++
	}
	if n > 0 {
		f.setGaps(slices.Delete(f.gaps, 0, n))
	}
}

// ChangedGaps calls each with the gaps of the files where they are others than
// at the last call, as a checkpoint keeps them.
func (s *Source) ChangedGaps(each func(id Identity, stream, gaps string)) {
	for id, f := range s.files {
		if f.gapsChanged {
			f.gapsChanged = false
			each(id, f.stream.name, encodeGaps(f.gaps))
		}
	}
}

// Gaps returns how many gaps there are whose markers are not durable.
func (s *Source) Gaps() (n int) {
	for _, f := range s.files {
		n += len(f.gaps)
	}
	return n
}

// GapBytes is about what a checkpoint needs for one gap.
const GapBytes = 40

// passGap hands on the marker of g, which lies at the read position, and moves
// that behind it.
func (s *Source) passGap(f *File, g *gap, area []byte) (int, Chunk, error) {
	if !f.holds(g.end) {
		s.truncated(f)
		return s.nextChunk(f, area)
	}
	n, err := unix.Pread(f.fd, f.seen[:g.end.CheckLen], g.end.Offset-int64(g.end.CheckLen))
	if err != nil {
		return 0, Chunk{}, fmt.Errorf("read behind a gap of %q: %w", f.name, err)
	}
	var lines [ul.NumLevels]uint32
	text := area[:0]
	if f.read.Open {
		text = append(text, '\n')
		lines[f.openLevel]++
	}
	text = g.AppendMarker(text)
	f.seenLen = n
	f.read, f.openLevel = g.end, g.end.Level
	f.ended, f.relevel = false, false
	f.stream.class.Resume(g.end.Level)
	first := f.counted < f.read.Offset
	f.counted = max(f.counted, f.read.Offset)
	if len(text) == 0 {
		return s.nextChunk(f, area) // no more than a piece of a line that was told of before
	}
	c := s.chunk(f, lines, 0, 0, first)
	c.Marker = true
	return len(text), c, nil
}

// The gaps of a file in a checkpoint are base64 of, for each gap in their
// order, unsigned varints: the distance from the end of the one before, the
// length; the check of the position behind it in 4 bytes, its length; its level
// and whether a line is open there; a bit set of the counts that are not zero,
// and these; the bytes; when, in ms since the gap before (zigzag), and for how
// many ms.
func encodeGaps(gaps []gap) string {
	if len(gaps) == 0 {
		return ""
	}
	var b []byte
	end, first := int64(0), int64(0)
	for i := range gaps {
		g := &gaps[i]
		b = binary.AppendUvarint(b, uint64(g.start-end))
		b = binary.AppendUvarint(b, uint64(g.end.Offset-g.start))
		b = binary.LittleEndian.AppendUint32(b, g.end.Check)
		b = append(b, byte(g.end.CheckLen), byte(g.end.Level)<<1)
		if g.end.Open {
			b[len(b)-1] |= 1
		}
		b = appendCounts(b, &g.Gap)
		b = binary.AppendUvarint(b, g.Bytes)
		b = binary.AppendVarint(b, g.First.UnixMilli()-first)
		b = binary.AppendUvarint(b, uint64(max(0, g.Last.Sub(g.First).Milliseconds())))
		end, first = g.end.Offset, g.First.UnixMilli()
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

func appendCounts(b []byte, g *ul.Gap) []byte {
	var set uint64
	for i := range ul.NumReasons * ul.NumLevels {
		if g.Lines[i/ul.NumLevels][i%ul.NumLevels] > 0 {
			set |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, set)
	for i := range ul.NumReasons * ul.NumLevels {
		if n := g.Lines[i/ul.NumLevels][i%ul.NumLevels]; n > 0 {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

var errGaps = errors.New("the gaps of a file cannot be read")

// decodeGaps reads what encodeGaps wrote. Gaps before offset are left out:
// their markers are durable.
func decodeGaps(text string, offset int64) (gaps []gap, err error) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGaps, err)
	}
	d := &decoder{rest: b}
	end, first := int64(0), int64(0)
	for len(d.rest) > 0 && !d.bad {
		g := gap{start: end + d.length(), unpunched: true}
		g.end.Offset = g.start + d.length()
		if check := d.bytes(6); check != nil {
			g.end.Check, g.end.CheckLen = binary.LittleEndian.Uint32(check), int(check[4])
			g.end.Level, g.end.Open = ul.Level(check[5]>>1), check[5]&1 != 0
		}
		set := d.uvarint()
		for i := range ul.NumReasons * ul.NumLevels {
			if set&(1<<i) != 0 {
				g.Lines[i/ul.NumLevels][i%ul.NumLevels] = d.uvarint()
			}
		}
		g.Bytes = d.uvarint()
		at := first + d.varint()
		g.First = time.UnixMilli(at)
		g.Last = time.UnixMilli(at + d.length())
		d.bad = d.bad || g.end.Offset <= g.start || g.end.Level >= ul.NumLevels
		end, first = g.end.Offset, at
		if g.start >= offset {
			gaps = append(gaps, g)
		}
	}
	if d.bad {
		return nil, errGaps
	}
	return gaps, nil
}

// decoder reads varints and remembers that one was bad.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) bytes(n int) []byte {
	if len(d.rest) < n {
		d.bad = true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// length is a number that can be added to others of its kind without overflow.
func (d *decoder) length() int64 {
	v := d.uvarint()
	if v > 1<<56 {
		d.bad = true
		return 0
	}
	return int64(v)
}
