package tail

import "github.com/ullage/ullage/internal/ship/position"

// turnBytes is about how much of a stream is read before another one has its
// turn.
const turnBytes = blockBytes

// A reader reads chunks of the streams in turns, from the oldest file of a stream
// to the newest.
type reader struct {
	*env
	contents *contents
	lines    *lineReader
	records  *recordReader
	changes  *truncations

	flowing []*File // those with flows set
}

// area is [Source.Area].
func (r *reader) area() int {
	area := r.cfg.LineLimit + AreaSlack
	for _, f := range r.contents.files {
		if area >= AreaBytes {
			break
		}
		if !f.records.empty() {
			area = AreaBytes
		}
	}
	return area
}

// next is [Source.Next].
func (r *reader) next(area []byte) (n int, c Chunk, ok bool) {
	for st := r.contents.streams.turn(turnBytes); st != nil; st = r.contents.streams.turn(turnBytes) {
		if n, c, ok = r.nextOf(st, area); ok {
			st.credit -= n
			return n, c, true
		}
		r.contents.streams.rest()
	}
	return 0, Chunk{}, false
}

// nextOf reads from the oldest file of the stream that has something.
func (r *reader) nextOf(st *Stream, area []byte) (n int, c Chunk, ok bool) {
	if st.refused {
		return 0, Chunk{}, false
	}
	for i := 0; i < len(st.files); i++ {
		f := st.files[i]
		if !f.dirty {
			continue
		}
		f.skipLost()
		open, counted := f.read.Open, f.counted.to
		n, c, err := r.nextChunk(f, area[:len(area)-1])
		if err == errRewritten {
			r.changes.truncated(f)
			i = -1 // the file has another place among the others
			continue
		}
		if err != nil {
			r.metrics.readErrors.Inc()
			r.log.once("read", "reading a source file failed", "error", err, "hint", "each poll tries again")
		}
		if err == nil && n > 0 {
			n, c = r.handOn(area, n, c, open, f.counted.to == counted)
			r.flow(f)
			return n, c, true
		}
		f.dirty = false
		if !f.held() && f.caughtUp() {
			r.contents.finish(f)
			i--
		}
	}
	return 0, Chunk{}, false
}

// flow notes that f had something to read.
func (r *reader) flow(f *File) {
	if !f.flows {
		f.flows = true
		r.flowing = append(r.flowing, f)
	}
}

// takeFlowing touches the files that had something to read since its last call.
func (r *reader) takeFlowing() {
	for _, f := range r.flowing {
		f.flows = false
		if f.held() {
			r.contents.touch(f)
		}
	}
	clear(r.flowing) // or it would keep files alive that were closed
	r.flowing = r.flowing[:0]
}

// nextChunk reads one chunk of f. No bytes means that there is none for now, and
// errRewritten that the file was truncated in place.
func (r *reader) nextChunk(f *File, area []byte) (n int, c Chunk, err error) {
	for {
		f.skipLost()
		rec := f.records.next(f.read.Offset)
		switch {
		case rec != nil && !f.intact(rec):
			return 0, Chunk{}, errRewritten
		case rec != nil && rec.From == f.read.Offset:
			if n, c, err = r.records.next(f, area); n > 0 || err != nil {
				return n, c, err
			}
		case f.held():
			if n, c, err = r.lines.next(f, area); err != errStepped {
				return n, c, err
			}
		default:
			return 0, Chunk{}, nil
		}
	}
}

// skipLost moves the read position to the next record of a content that its file
// does not hold any more: what was between them is gone.
func (f *File) skipLost() {
	if r := f.records.next(f.read.Offset); r != nil && !f.held() && r.From > f.read.Offset {
		f.read.Position = position.Position{Offset: r.From, Level: f.read.Level}
	}
}

// handOn counts c, of n bytes in area, as handed on. It puts the end of an open
// line in front of c if one was abandoned; the area has room for that. Counted
// says that the lines of c are in the read metrics already.
func (r *reader) handOn(area []byte, n int, c Chunk, continues, counted bool) (int, Chunk) {
	number, level, abandoned := r.contents.open.next(c.File, c.End, continues)
	if c.number = number; !abandoned {
		return n, c
	}
	at := 0
	if r.lines.sifter.holds(c.File.stream, level) {
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
		r.metrics.countRead(c.File.stream.label, v)
	}
	return n + 1, c
}
