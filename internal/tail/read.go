package tail

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/spool"
	"github.com/ullage/ullage/internal/ul"
)

// A Chunk describes bytes that [Source.Next] put into the caller's area: whole
// lines of one source file, a piece of a line over the limit, or what stands in
// the place of records: lines with markers, or one zstd frame.
type Chunk struct {
	File  *File
	End   position.Position    // behind the chunk in the source file
	Lines [ul.NumLevels]uint32 // lines that end in the chunk, by level
	Read  time.Time            // when

	Made int // bytes of it that are markers of gaps, and not the JVM's

	// Frame is the length of the lines if the chunk is not the lines themselves,
	// but one zstd frame of them.
	Frame int

	number uint64 // counts what is handed on
}

// AreaSlack is by how much more than LineLimit the area for Next has to have: for
// two markers, each behind the newline of a line that a gap cut off, for the end
// of a line that was abandoned, and for the byte by which a line is longer than the
// limit.
const AreaSlack = 2*(ul.MaxMarkerBytes+1) + 2

// turnBytes is about how much of a stream is read before another one has its
// turn.
const turnBytes = blockBytes

// AreaBytes is the area that the largest record of the spool needs, whatever the
// line limit of the process that made it.
const AreaBytes = spool.BlockBytes + AreaSlack

// Area returns how long the area for Next has to be now.
func (s *Source) Area() int {
	area := s.cfg.LineLimit + AreaSlack
	for _, f := range s.files {
		if area >= AreaBytes {
			break
		}
		if !f.records.empty() {
			area = AreaBytes
		}
	}
	return area
}

// Next reads the next chunk of any file that has one into area, of [Source.Area]
// bytes, and returns its length. ok is false when there is
// nothing to read for now. Streams take turns, of as many bytes: what one of
// them writes must not keep the lines of another from being read.
func (s *Source) Next(area []byte) (n int, c Chunk, ok bool) {
	for len(s.streams.active) > 0 {
		st := s.streams.active[0]
		if st.credit <= 0 {
			// The stream keeps its place in the queue of turns, at the end. One
			// that took more than a turn of it, in a long line, waits for more.
			st.credit += turnBytes
			copy(s.streams.active, s.streams.active[1:])
			s.streams.active[len(s.streams.active)-1] = st
			continue
		}
		if n, c, ok = s.nextOf(st, area); ok {
			st.credit -= n
			return n, c, true
		}
		copy(s.streams.active, s.streams.active[1:])
		s.streams.active = s.streams.active[:len(s.streams.active)-1]
		st.active = false
	}
	return 0, Chunk{}, false
}

// handOn counts c, of n bytes in area, as handed on. It puts the end of an open
// line in front of c if one was abandoned; the area has room for that. Counted
// says that the lines of c are in the read metrics already.
func (s *Source) handOn(area []byte, n int, c Chunk, continues, counted bool) (int, Chunk) {
	was, abandoned := s.open.next(&c, continues)
	if !abandoned {
		return n, c
	}
	copy(area[1:n+1], area[:n])
	area[0] = '\n'
	c.Made++
	c.Lines[was.level]++
	if !counted {
		var v volume
		v.lines[was.level] = 1
		s.countRead(c.File.stream, v)
	}
	return n + 1, c
}

// nextOf reads from the oldest file of the stream that has something.
func (s *Source) nextOf(st *Stream, area []byte) (n int, c Chunk, ok bool) {
	if st.refused {
		return 0, Chunk{}, false
	}
	for i := 0; i < len(st.files); i++ {
		f := st.files[i]
		if !f.dirty {
			continue
		}
		f.skipLost()
		open, counted := f.read.Open, f.counted
		n, c, err := s.nextChunk(f, area[:len(area)-1])
		if err == errRewritten {
			s.truncated(f)
			i = -1 // the file has another place among the others
			continue
		}
		if err != nil {
			s.metrics.readErrors.Inc()
			s.log.once("read", "reading a source file failed", "error", err, "hint", "each poll tries again")
		}
		if err == nil && n > 0 {
			n, c = s.handOn(area, n, c, open, f.counted == counted)
			return n, c, true
		}
		f.dirty = false
		if !f.held() && f.caughtUp() {
			s.finishContent(f)
			i--
		}
	}
	return 0, Chunk{}, false
}

// nextChunk reads one chunk of f. No bytes means that there is none for now, and
// errRewritten that the file was truncated in place.
func (s *Source) nextChunk(f *File, area []byte) (int, Chunk, error) {
	for {
		f.skipLost()
		r := f.records.next(f.read.Offset)
		switch {
		case r != nil && !f.intact(r):
			return 0, Chunk{}, errRewritten
		case r != nil && r.From == f.read.Offset:
		case f.held():
			return s.nextLines(f, area)
		default:
			return 0, Chunk{}, nil
		}
		if n, c, err := s.passRecords(f, area); n > 0 || err != nil {
			return n, c, err
		}
	}
}

// skipLost moves the read position to the next record of a content that its file
// does not hold any more: what was between them is gone.
func (f *File) skipLost() {
	if r := f.records.next(f.read.Offset); r != nil && !f.held() && r.From > f.read.Offset {
		f.read = position.Position{Offset: r.From, Level: f.read.Level}
	}
}

// nextLines reads one chunk of f up to the next record.
func (s *Source) nextLines(f *File, area []byte) (int, Chunk, error) {
	n, atEnd, err := s.fill(f, area)
	if err != nil {
		return 0, Chunk{}, err
	}
	if n > 0 && (area[0] == 0 || area[n-1] == 0) && f.read.Offset+int64(n) > f.solid {
		if n, c, cut, err := s.cutHole(f, area, n); cut || err != nil {
			return n, c, err
		}
	}
	recounted := f.read.Offset < f.counted
	keep := bytes.LastIndexByte(area[:n], '\n') + 1
	switch {
	case keep > 0:
		return s.take(f, area[:keep])
	case recounted && n == int(f.counted-f.read.Offset):
		// This piece was handed on before: its end is that of a chunk.
		return s.take(f, area[:n])
	case n > s.cfg.LineLimit:
		return s.take(f, area[:s.cfg.LineLimit])
	case n > 0 && f.endsAtRecord(n):
		return s.take(f, area[:n])
	case atEnd && (n > 0 || f.read.Open) && !f.ended && s.mayEnd(f):
		return s.takeRest(f, area, n)
	}
	return 0, Chunk{}, nil
}

// fill reads from f until it has a line end, more than LineLimit bytes, or
// the end of the file.
func (s *Source) fill(f *File, area []byte) (n int, atEnd bool, err error) {
	most := s.cfg.LineLimit + 1
	if again := f.counted - f.read.Offset; again > 0 {
		// Reading again after a rewind: end where a chunk ended, so that no
		// line is counted as read twice.
		most = int(min(int64(most), again))
	}
	most = f.untilRecord(most)
	first := min(blockBytes, most)
	n, rewritten, err := f.pread(area[:first])
	if err != nil {
		return 0, false, err
	}
	if rewritten {
		return 0, false, errRewritten
	}
	if n < first || n == most || bytes.IndexByte(area[:n], '\n') >= 0 {
		return n, n < first, nil
	}
	more, err := f.preadBehind(area[n:most], n)
	return n + more, n+more < most, err
}

// truncated begins with what is in a file now that was truncated in place.
func (s *Source) truncated(f *File) {
	s.metrics.truncations.Inc()
	if s.log.notTooOften(s.now()) {
		s.log.Warn("source file was truncated in place",
			"file", f.name, "stream", f.stream.name, "position", f.read.Offset,
			"hint", "lines that were neither read nor moved are lost; let the JVM rotate with filecount=1 or more; further truncations of this minute are only counted")
	}
	s.renew(f)
}

// renew takes what is in a file now for another content, to be read from its
// beginning behind what is left of the one before.
func (s *Source) renew(f *File) *File {
	g := f.renewed()
	s.hold(g)
	if g.name != "" {
		s.listing.names[g.name] = g
	}
	s.streams.follow(f, g)
	s.touch(g)
	if s.touch(f); f.caughtUp() {
		s.finishContent(f)
	}
	return g
}

// take hands on data, which lies at the read position.
func (s *Source) take(f *File, data []byte) (int, Chunk, error) {
	first := f.read.Offset >= f.counted
	lines, dropped := s.classify(f, data, first)
	f.advance(data)
	f.read.Open = data[len(data)-1] != '\n'
	f.ended = false
	if first {
		f.endCounted = false
	}
	return len(data), s.chunk(f, lines, dropped, len(data), first), nil
}

// chunk describes what was just handed on, and counts it if it is new.
func (s *Source) chunk(f *File, lines [ul.NumLevels]uint32, dropped uint64, sourceBytes int, first bool) Chunk {
	if f.read.Level = f.stream.class.Level(); f.read.Open {
		f.read.Level = f.openLevel
	}
	f.queued = f.read
	if first {
		f.counted = f.read.Offset
		s.countRead(f.stream, volume{lines, sourceBytes, dropped})
	}
	if f.read.Offset > f.size {
		s.grow(f, f.read.Offset)
	}
	return Chunk{File: f, End: f.read, Lines: lines, Read: s.now()}
}

// countRead counts what is read for the first time.
func (s *Source) countRead(st *Stream, v volume) {
	for level, n := range v.lines {
		if n > 0 {
			s.metrics.readLines.WithLabelValues(st.label, ul.Level(level).String()).Add(float64(n))
		}
	}
	s.metrics.readBytes.WithLabelValues(st.label).Add(float64(v.bytes))
	if v.dropped > 0 {
		s.metrics.jvmDropped.WithLabelValues(st.label).Add(float64(v.dropped))
	}
}

// classify counts the lines that end in data by level, and shows them, if this
// is the first time, to whoever wants to see lines. A line that was begun in an
// earlier piece has the level of its beginning, and was shown then.
func (s *Source) classify(f *File, data []byte, first bool) (lines [ul.NumLevels]uint32, dropped uint64) {
	show := s.cfg.OnLine
	if !first {
		show = nil
	}
	if f.relevel {
		f.relevel = false
		f.stream.class.Resume(f.read.Level)
	}
	s.countCut(f, data, f.read.Offset)
	open := f.read.Open
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line := data
		if end >= 0 {
			line = data[:end]
		}
		level := f.openLevel
		if !open {
			class := f.stream.class.Classify(line)
			level, dropped = class.Level, dropped+class.Dropped
			if show != nil {
				show(line, class)
			}
		}
		if end < 0 {
			f.openLevel = level
			break
		}
		lines[level]++
		open = false
		data = data[end+1:]
	}
	return lines, dropped
}

// takeRest hands on the n bytes behind the last line end of a file that
// nobody writes any more, and a line end behind them.
func (s *Source) takeRest(f *File, area []byte, n int) (int, Chunk, error) {
	// Read once more: there may have been a writer until just now.
	again, _, err := s.fill(f, area)
	if err != nil || again != n || n > 0 && bytes.IndexByte(area[:n], '\n') >= 0 {
		s.touch(f)
		return 0, Chunk{}, err
	}
	first := f.read.Offset >= f.counted && !f.endCounted
	area[n] = '\n'
	lines, dropped := s.classify(f, area[:n+1], first)
	if n > 0 {
		f.advance(area[:n])
	}
	f.read.Open = false
	f.ended = true
	f.endCounted = true
	return n + 1, s.chunk(f, lines, dropped, n, first), nil
}
