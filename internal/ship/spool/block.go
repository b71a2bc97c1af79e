package spool

import (
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// A Block is a run of consecutive bytes of one source file that will be moved into the log.
// It records which lines are kept. Fill it with [Block.Begin] and [Block.Take].
type Block struct {
	Of     position.Content
	Stream string
	From   int64
	End    position.Position // the caller sets it before Append
	Read   time.Time

	data  []byte // everything taken so far
	parts [2]part
	runs  []run

	told    ul.Gap // sum of the gaps of the markers
	markers uint32 // bytes of the markers
}

// Begin empties the block but keeps its memory.
func (b *Block) Begin(of position.Content, stream string, from int64, data []byte) {
	*b = Block{Of: of, Stream: stream, From: from, data: data[:0], runs: b.runs[:0]}
}

// Take adds the next line, or piece of a line, of the data that Begin was given. kept reports
// whether pressure spares the line. counts means that the bytes count as a line: the line
// begins here, or its beginning was not moved.
func (b *Block) Take(line []byte, level ul.Level, kept, counts bool) {
	b.data = b.data[:len(b.data)+len(line)]
	if len(b.runs) == 0 {
		b.runs = append(b.runs, run{})
	}
	last := &b.runs[len(b.runs)-1]
	if !kept {
		if last.kept > 0 {
			b.runs = append(b.runs, run{})
			last = &b.runs[len(b.runs)-1]
		}
		last.rest += uint32(len(line))
		if counts {
			last.lines[level]++
		}
		return
	}
	if last.kept == 0 && last.rest < MinRest {
		b.keep()
		last = &b.runs[len(b.runs)-1]
	}
	last.kept += uint32(len(line))
	if counts {
		b.parts[Kept].lines[level]++
	}
}

// mostTold bounds the bytes in the gap of one marker, so that the sum of a block cannot
// overflow: an application can write a line that looks like a marker.
const mostTold = 1 << 40

// TakeMarker is like Take, for a line that is the marker of a gap, whose numbers must not be
// lost. Pressure spares the line. Once all lines of the block are dropped, the marker that
// replaces them counts the gap in place of the line.
func (b *Block) TakeMarker(line []byte, level ul.Level, gap ul.Gap) {
	if gap.Bytes > mostTold || gap.Total() > gap.Bytes {
		b.Take(line, level, true, true) // the marker is not ours
		return
	}
	b.Take(line, level, true, false)
	gap.First, gap.Last = time.Time{}, time.Time{} // the record has its own times
	b.told.Add(gap)
	b.markers += uint32(len(line))
}

// sum returns the lines that are missing once Kept is gone, or nil if the block has no
// markers. Call it after close.
func (b *Block) sum() *ul.Gap {
	if b.markers == 0 {
		return nil
	}
	g := b.told
	for level, n := range b.parts[Kept].lines {
		g.Lines[ul.DropAll][level] += uint64(n)
	}
	g.Bytes += uint64(b.parts[Kept].raw - b.markers)
	g.First, g.Last = b.Read, b.Read
	return &g
}

// keep turns the last run, a short stretch of rest, into kept lines.
func (b *Block) keep() {
	last := len(b.runs) - 1
	short := b.runs[last]
	for level, n := range short.lines {
		b.parts[Kept].lines[level] += n
	}
	if last > 0 {
		b.runs = b.runs[:last]
		b.runs[last-1].kept += short.rest
		return
	}
	b.runs[0] = run{kept: short.rest}
}

// Kept returns how many of the bytes taken are kept.
func (b *Block) Kept() (n int) {
	for i := range b.runs {
		n += int(b.runs[i].kept)
	}
	return n
}

// Len returns how many bytes were taken.
func (b *Block) Len() int { return len(b.data) }

// close adds up the counts of the parts.
func (b *Block) close() {
	for i := range b.runs {
		b.parts[Kept].raw += b.runs[i].kept
		b.parts[Rest].raw += b.runs[i].rest
		for level, n := range b.runs[i].lines {
			b.parts[Rest].lines[level] += n
		}
	}
}

// split appends the bytes of one part to dst. If the part is the whole block,
// split returns the block's own data.
func (b *Block) split(dst []byte, which Part) []byte {
	switch int(b.parts[which].raw) {
	case 0:
		return nil
	case len(b.data):
		return b.data
	}
	at := uint32(0)
	for i := range b.runs {
		r := &b.runs[i]
		from, n := at, r.rest
		if which == Kept {
			from, n = at+r.rest, r.kept
		}
		dst = append(dst, b.data[from:from+n]...)
		at += r.rest + r.kept
	}
	return dst
}
