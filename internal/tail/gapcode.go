package tail

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// GapBytes is about what a checkpoint needs for one gap.
const GapBytes = 48

// Flags of a gap in a checkpoint; the level is above them.
const (
	gapOpen = 1 << iota
	gapText
	gapLevel = iota // bits
)

// The gaps of a file in a checkpoint are base64 of, for each gap in their
// order, unsigned varints unless it says otherwise: the distance from the end
// of the one before, and the length; the check of the position behind it in 4
// bytes and the check's length in one; the level there and the flags in one; the
// counts of lines; the bytes of these; when, in ms since the gap before
// (zigzag), and for how many ms; and of its text where it stands and its length,
// the counts of its lines, and their bytes. Counts are a bit set of those that
// are not zero, and these. A first gap of no length at the beginning is what
// was dropped in the file before it was truncated.
func encodeGaps(gaps []gap, orphan ul.Gap) string {
	if orphan.Total() > 0 {
		gaps = slices.Insert(slices.Clone(gaps), 0, gap{Gap: orphan})
	}
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
		flags := byte(g.end.Level) << gapLevel
		if g.end.Open {
			flags |= gapOpen
		}
		if g.text != nil {
			flags |= gapText
		}
		b = append(b, byte(g.end.CheckLen), flags)
		b = appendCounts(b, g.Lines[:]...)
		b = binary.AppendUvarint(b, g.Bytes)
		b = binary.AppendVarint(b, g.First.UnixMilli()-first)
		b = binary.AppendUvarint(b, uint64(max(0, g.Last.Sub(g.First).Milliseconds())))
		if t := g.text; t != nil {
			b = binary.AppendUvarint(b, uint64(t.at))
			b = binary.AppendUvarint(b, uint64(t.length))
			b = appendCounts(b, t.kept)
			b = binary.AppendUvarint(b, t.bytes)
		}
		end, first = g.end.Offset, g.First.UnixMilli()
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

func appendCounts(b []byte, counts ...[ul.NumLevels]uint64) []byte {
	var set uint64
	for i, lines := range counts {
		for level, n := range lines {
			if n > 0 {
				set |= 1 << (i*ul.NumLevels + level)
			}
		}
	}
	b = binary.AppendUvarint(b, set)
	for _, lines := range counts {
		for _, n := range lines {
			if n > 0 {
				b = binary.AppendUvarint(b, n)
			}
		}
	}
	return b
}

var errGaps = errors.New("the gaps of a file cannot be read")

// decodeGaps reads what encodeGaps wrote, of so many gaps at most. What is
// before the position is left out: its markers are durable.
func decodeGaps(code string, p position.Position, most int) (gaps []gap, orphan ul.Gap, err error) {
	b, err := base64.RawStdEncoding.DecodeString(code)
	if err != nil {
		return nil, orphan, fmt.Errorf("%w: %w", errGaps, err)
	}
	d := &decoder{rest: b}
	end, first := int64(0), int64(0)
	for begin := true; len(d.rest) > 0 && !d.bad; begin = false {
		g := d.gap(end, first)
		end, first = g.end.Offset, g.First.UnixMilli()
		switch {
		case begin && end == 0:
			if p.Offset == 0 && p.Text == 0 {
				orphan = g.Gap
			}
		case end <= g.start || g.end.CheckLen != position.Span(end) || len(gaps) == most:
			d.bad = true
		case g.start >= p.Offset:
			gaps = append(gaps, g)
		}
	}
	if d.bad {
		return nil, ul.Gap{}, errGaps
	}
	return gaps, orphan, nil
}

// WithoutOrphan returns the gaps of a file, as they are in a checkpoint, without
// what was dropped in the file before it was truncated. Its marker most often
// ends behind the beginning of the file, and the position then says that it is
// durable; that of a file which is empty ends at offset 0.
func WithoutOrphan(code string) string {
	gaps, orphan, err := decodeGaps(code, position.Position{}, mostGaps)
	if err != nil || orphan.Total() == 0 {
		return code
	}
	return encodeGaps(gaps, ul.Gap{})
}

// decoder reads varints and remembers that one was bad.
type decoder struct {
	rest []byte
	bad  bool
}

// gap reads a gap behind one that ends at end and began at the time first.
func (d *decoder) gap(end, first int64) gap {
	g := gap{start: end + d.length(), unpunched: true}
	g.end.Offset = g.start + d.length()
	flags := byte(0)
	if check := d.bytes(6); check != nil {
		g.end.Check, g.end.CheckLen, flags = binary.LittleEndian.Uint32(check), int(check[4]), check[5]
	}
	g.end.Level, g.end.Open = ul.Level(flags>>gapLevel), flags&gapOpen != 0
	d.counts(&g.Lines[0], &g.Lines[1])
	g.Bytes = d.uvarint()
	at := first + d.varint()
	g.First = time.UnixMilli(at)
	g.Last = time.UnixMilli(at + d.length())
	if flags&gapText != 0 {
		g.text = &text{at: d.length(), length: d.length()}
		d.counts(&g.text.kept)
		g.text.bytes = d.uvarint()
		d.bad = d.bad || g.text.length == 0
	}
	d.bad = d.bad || g.end.Offset > maxLength || g.end.Level >= ul.NumLevels
	return g
}

func (d *decoder) counts(counts ...*[ul.NumLevels]uint64) {
	set := d.uvarint()
	for i, lines := range counts {
		for level := range lines {
			if set&(1<<(i*ul.NumLevels+level)) != 0 {
				lines[level] = d.uvarint()
			}
		}
	}
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

// maxLength bounds offsets and lengths, so that their sum cannot overflow.
const maxLength = 1 << 56

func (d *decoder) length() int64 {
	v := d.uvarint()
	if v > maxLength {
		d.bad = true
		return 0
	}
	return int64(v)
}
