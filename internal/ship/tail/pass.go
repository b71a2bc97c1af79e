package tail

import (
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A recordReader hands on the content of records: their lines, and a marker
// where lines were dropped.
type recordReader struct {
	*env
	open  *source.OpenLines
	lines *lineReader
}

// next hands on the content of the record at the read position, together with the records
// after it that have no lines left. A record is always handed on whole, so that no position
// is inside a record.
//
// Lines after a marker go into the same chunk if they have already been written: when a
// checkpoint is lost, [Start.Align] can only look up lines that are persisted after the last
// marker.
func (p *recordReader) next(f *source.File, area []byte) (int, Chunk, error) {
	if n, c, err := p.frame(f, area); n > 0 || err != nil {
		return n, c, err
	}
	wasOpen, openLevel, before := f.Read.Open, f.Read.OpenLevel, f.Read.Level
	o := spool.Reading{Data: area[:0], Open: f.Read.Open, Level: f.Read.OpenLevel}
	end := f.Read.Position
	for r := f.Records.Next(end.Offset); r != nil && r.From == end.Offset; r = f.Records.Next(end.Offset) {
		if !r.Empty() && len(o.Data) > 0 {
			break
		}
		before = end.Level
		if err := r.Log.Read(&o, r.Record); err != nil {
			if err := p.lose(f, r, err); err != nil {
				return 0, Chunk{}, err
			}
			continue
		}
		end = r.End
		if len(o.Data) > 0 {
			break
		}
	}
	o.Mark()
	if err := f.JumpTo(end); err != nil {
		return 0, Chunk{}, err
	}
	f.Read.Open = o.Open // a line is open only if its beginning was handed on
	f.Stream.Class.Resume(end.Level)
	f.Counted.To = max(f.Counted.To, end.Offset)
	if len(o.Data) == 0 {
		return 0, Chunk{}, nil // the record is only a piece of a line that already has its marker
	}
	if o.Torn > 0 {
		var lines [ul.NumLevels]uint64
		lines[o.Level] = uint64(o.Torn)
		p.metrics.dropped.add(f.Stream.Label, ul.DropAll, lines, 0)
	}
	c := p.lines.chunk(f, o.Lines, 0, 0, false)
	c.Made = max(o.Made, f.Stream.Markers(o.Data))
	c.Withheld = p.lines.sifter.siftLines(f.Stream, o.Data, before, wasOpen, openLevel)
	return p.addLines(f, area, len(o.Data), c)
}

// frame hands on the frame of the record at the read position unchanged, if the record
// has one and no open line of the stream must be ended first.
func (p *recordReader) frame(f *source.File, area []byte) (int, Chunk, error) {
	r := f.Records.Next(f.Read.Offset)
	if !p.cfg.Frames || r == nil || p.open.InFrontOf(f) {
		return 0, Chunk{}, nil
	}
	frame, raw, err := r.Log.Frame(r.Record)
	if err != nil || len(frame) == 0 || len(frame) > len(area) {
		return 0, Chunk{}, nil // after an error, reading the record's lines reports it again
	}
	var lines [ul.NumLevels]uint32
	for _, part := range []spool.Part{spool.Kept, spool.Rest} {
		counts, _ := r.Lines(part)
		for level, n := range counts {
			lines[level] += n
		}
	}
	end := r.End
	if err := f.JumpTo(end); err != nil {
		return 0, Chunk{}, err
	}
	f.Stream.Class.Resume(end.Level)
	f.Counted.To = max(f.Counted.To, end.Offset)
	c := p.lines.chunk(f, lines, 0, 0, false)
	c.Frame = raw
	return copy(area, frame), c, nil
}

// addLines adds the next lines to c, a chunk of n bytes in area, if c has no lines and there
// is room. It stops at the next record, which may begin after a hole: a frame cannot be
// a part of a chunk.
func (p *recordReader) addLines(f *source.File, area []byte, n int, c Chunk) (int, Chunk, error) {
	rest := area[n:]
	if n > c.Made || c.Withheld > 0 || !f.Held() || len(rest) < p.cfg.LineLimit+ul.MaxMarkerBytes+2 {
		return n, c, nil
	}
	more, behind, err := 0, Chunk{}, errStepped
	for err == errStepped && !f.Records.BeginAt(f.Read.Offset) {
		more, behind, err = p.lines.next(f, rest)
	}
	if more == 0 || err != nil {
		return n, c, nil // the next read reports an error again
	}
	behind.Made += c.Made
	for level, lines := range c.Lines {
		behind.Lines[level] += lines
	}
	return n + more, behind, nil
}

// lose counts the lines of a record as dropped if another process has changed them in the
// spool.
func (p *recordReader) lose(f *source.File, r *source.Spooled, why error) error {
	p.metrics.readErrors.Inc()
	// messages.md#pressure: Another process changed `SOURCE/.ullage/spool`. The lines of that
	// record are counted as dropped.
	p.log.once("spool", "reading the spool failed", "stream", f.Stream.Name, "error", why,
		"hint", "the lines are counted as dropped")
	_, dropped, err := f.Records.Drop(r, ul.DropAll)
	p.metrics.dropped.addParts(f.Stream.Label, r.Record, dropped)
	return err
}
