package tail

import "github.com/ullage/ullage/internal/ship/source"

// turnBytes is roughly how much of a stream is read before another stream gets its turn.
const turnBytes = blockBytes

// A Reader reads chunks of the streams in turns, from the oldest file of a stream
// to the newest.
type Reader struct {
	*env
	table   *source.Table
	lines   *lineReader
	records *recordReader
	changes *truncations
}

// Area returns the length that the area for Next must have now.
func (r *Reader) Area() int {
	area := r.cfg.LineLimit + AreaSlack
	for _, f := range r.table.Files {
		if area >= AreaBytes {
			break
		}
		if !f.Records.Empty() {
			area = AreaBytes
		}
	}
	return area
}

// Next reads the next chunk, of any file that has one, into area, which must have
// [Reader.Area] bytes. It returns the length of the chunk. ok is false if there is nothing
// to read for now. Streams take turns of equally many bytes, so that one stream cannot
// block another.
func (r *Reader) Next(area []byte) (n int, c Chunk, ok bool) {
	for st := r.table.Streams.Turn(turnBytes); st != nil; st = r.table.Streams.Turn(turnBytes) {
		if n, c, ok = r.nextOf(st, area); ok {
			st.Credit -= n
			return n, c, true
		}
		r.table.Streams.Rest()
	}
	return 0, Chunk{}, false
}

// nextOf reads from the oldest file of the stream that has data.
func (r *Reader) nextOf(st *source.Stream, area []byte) (n int, c Chunk, ok bool) {
	if st.Refused {
		return 0, Chunk{}, false
	}
	for i := 0; i < len(st.Files); i++ {
		f := st.Files[i]
		if !f.Growth.Dirty {
			continue
		}
		f.SkipLost()
		open, counted := f.Read.Open, f.Counted.To
		n, c, err := r.nextChunk(f, area[:len(area)-1])
		if err == source.ErrRewritten {
			r.changes.truncated(f)
			i = -1 // there is a new file, perhaps before this one
			continue
		}
		if err != nil {
			r.metrics.readErrors.Inc()
			// messages.md#the-source: Each poll tries again.
			r.log.once("read", "reading a source file failed", "error", err, "hint", "each poll tries again")
		}
		if err == nil && n > 0 {
			n, c = r.handOn(area, n, c, open, f.Counted.To == counted)
			r.table.Flow(f)
			return n, c, true
		}
		f.Growth.Dirty = false
		if !f.Held() && f.CaughtUp() {
			r.table.Finish(f)
			i--
		}
	}
	return 0, Chunk{}, false
}

// nextChunk reads one chunk of f. It returns no bytes if there is no chunk for now, and
// source.ErrRewritten if the file was truncated in place.
func (r *Reader) nextChunk(f *source.File, area []byte) (n int, c Chunk, err error) {
	for {
		f.SkipLost()
		rec := f.Records.Next(f.Read.Offset)
		switch {
		case rec != nil && !f.Intact(rec):
			return 0, Chunk{}, source.ErrRewritten
		case rec != nil && rec.From == f.Read.Offset:
			if n, c, err = r.records.next(f, area); n > 0 || err != nil {
				return n, c, err
			}
		case f.Held():
			if n, c, err = r.lines.next(f, area); err != errStepped {
				return n, c, err
			}
		default:
			return 0, Chunk{}, nil
		}
	}
}

// handOn counts c, which has n bytes in area, as handed on. If an open line was abandoned,
// handOn puts the end of that line in front of c; the area has room for it. counted means that
// the lines of c are already in the read metrics.
func (r *Reader) handOn(area []byte, n int, c Chunk, continues, counted bool) (int, Chunk) {
	number, level, abandoned := r.table.OpenLines.Next(c.File.is, c.End, continues)
	if c.number = number; !abandoned {
		return n, c
	}
	at := 0
	if r.lines.sifter.holds(c.File.is.Stream, level) {
		at = n - c.Withheld
		c.Withheld++
	} else {
		c.Made++
	}
	copy(area[at+1:n+1], area[at:n])
	area[at] = '\n'
	c.Lines[level]++
	if !counted {
		var v volume
		v.lines[level] = 1
		r.metrics.countRead(c.File.is.Stream.Label, v)
	}
	return n + 1, c
}
