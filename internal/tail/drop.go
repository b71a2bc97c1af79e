package tail

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ul"
)

// A cursor goes through a file ahead of reading, to decide about its lines.
type cursor struct {
	offset int64
	class  ul.Classifier
	// A line longer than the limit is decided about in pieces, all of them as
	// the first one.
	open  bool
	level ul.Level // of the last line
	drop  bool
}

// Drop decides that lines are dropped that were not handed on yet, the oldest
// first, until so many bytes can be given back that want is reached, or there
// are no more lines that may go. With ul.Discard those below keep go, together
// with the further lines of their records; with ul.DropAll all of them. It
// returns how many bytes that gives back.
//
// Nothing is given back yet: first the gaps have to be recorded, then
// [Source.PunchGaps] does it. Lines that share their pages with ones that stay
// are not dropped, since that would give back nothing.
func (s *Source) Drop(reason ul.Reason, keep ul.Level, want int64) (freed int64) {
	for _, f := range s.files {
		f.stuck = !f.punchable
		if size, _, err := f.sizeNow(); err == nil && size != f.size {
			s.grow(f, size)
		}
	}
	if s.scratch == nil {
		s.scratch = make([]byte, s.cfg.LineLimit+1)
	}
	for freed < want {
		f := s.mostUndecided(reason)
		if f == nil {
			break
		}
		n, err := s.dropFrom(f, reason, keep)
		if err != nil {
			s.metrics.readErrors.Inc()
			s.warnOnce("read", "cannot read a source file; trying again at each poll", "error", err)
			f.stuck = true
		}
		freed += n
	}
	return freed
}

// mostUndecided returns the oldest file, with lines that may be dropped, of the
// stream that has the most of them. Nil: there are none.
func (s *Source) mostUndecided(reason ul.Reason) (oldest *File) {
	most := int64(0)
	for _, st := range s.streams {
		var first *File
		bytes := int64(0)
		for _, f := range st.files {
			if f.stuck {
				continue
			}
			if left := f.undecided(reason); left > 0 {
				bytes += left
				if first == nil {
					first = f
				}
			}
		}
		if first != nil && bytes > most {
			oldest, most = first, bytes
		}
	}
	return oldest
}

// undecided is how many bytes of f there are to decide about.
func (f *File) undecided(reason ul.Reason) int64 {
	at := max(f.ahead.offset, f.read.Offset)
	left := max(0, f.size-at)
	if reason == ul.DropAll {
		// What was kept before.
		left = max(0, f.size-max(f.swept.offset, f.read.Offset))
		for i := f.gapAt(max(f.swept.offset, f.read.Offset)); i < len(f.gaps); i++ {
			left -= f.gaps[i].end.Offset - f.gaps[i].start
		}
	}
	return left
}

// dropFrom decides about one block of f.
func (s *Source) dropFrom(f *File, reason ul.Reason, keep ul.Level) (freed int64, err error) {
	c := &f.ahead
	if reason == ul.DropAll {
		c = &f.swept
		keep = ul.NumLevels
	}
	if c.offset < f.read.Offset {
		*c = cursor{offset: f.read.Offset, open: f.read.Open, level: f.openLevel}
		if f.read.Offset > 0 {
			c.class = f.stream.class
			c.class.Resume(f.read.Level)
		}
	}
	for g := f.gapOver(c.offset); g != nil; g = f.gapOver(c.offset) {
		c.jump(g.end)
	}
	limit := f.size
	if at := f.gapAt(c.offset); at < len(f.gaps) {
		limit = min(limit, f.gaps[at].start)
	}
	data, err := s.readAhead(f, c, limit)
	s.countCut(f, data, c.offset)
	if err != nil || len(data) == 0 {
		f.stuck = true
		return 0, err
	}
	freed = s.decide(f, c, data, reason, keep)
	if f.swept.offset > f.ahead.offset {
		f.ahead = f.swept
	}
	return freed, nil
}

// jump moves the cursor behind a gap.
func (c *cursor) jump(to Position) {
	c.offset, c.open, c.level, c.drop = to.Offset, to.Open, to.Level, to.Open
	c.class.Resume(to.Level)
}

// readAhead reads from the cursor to limit at most, and over a hole: a block,
// or as much more as it takes for a line end. It returns nothing where there is
// no whole line yet.
func (s *Source) readAhead(f *File, c *cursor, limit int64) ([]byte, error) {
	for _, size := range []int{min(blockBytes, len(s.scratch)), len(s.scratch)} {
		most := int(min(int64(size), limit-c.offset))
		n, err := unix.Pread(f.fd, s.scratch[:most], c.offset)
		if err != nil {
			return nil, err
		}
		data := s.scratch[:n]
		if n > 0 && data[0] == 0 {
			if at, err := f.nextData(c.offset); err == nil && at > c.offset {
				c.offset = min(at, limit)
				if c.offset == limit {
					return nil, nil
				}
				return s.readAhead(f, c, limit)
			}
		}
		if end := bytes.LastIndexByte(data, '\n') + 1; end > 0 {
			return data[:end], nil
		}
		if n > s.cfg.LineLimit || n > 0 && c.offset+int64(n) == limit && limit < f.size {
			return data, nil
		}
		if n < most || most < size {
			return nil, nil
		}
	}
	return nil, nil
}

// decide goes through data, whole lines or a piece of one, at the cursor, and
// makes gaps of what may go. A run at its end that is too short to be one is
// looked at again with what follows.
func (s *Source) decide(f *File, c *cursor, data []byte, reason ul.Reason, keep ul.Level) (freed int64) {
	r := run{from: *c}
	for base := c.offset; len(data) > 0; {
		line, ended := data, false
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, ended = data[:end+1], true
		}
		begun, dropped := !c.open, uint64(0)
		if begun {
			class := c.class.Classify(bytes.TrimSuffix(line, newline))
			c.level, c.drop, dropped = class.Level, effective(class.Level) < keep, class.Dropped
			if c.drop {
				s.showDropped(f, c.offset, line, class)
			} else {
				freed += s.closeRun(f, &r, c.offset, false, reason)
			}
		}
		c.offset += int64(len(line))
		c.open = !ended
		if data = data[len(line):]; c.drop {
			r.take(line, c.level, begun, dropped, c.offset > f.counted)
		} else {
			r = run{from: *c}
		}
		if len(data) == 0 && r.bytes > 0 {
			n := s.closeRun(f, &r, c.offset, c.open, reason)
			if freed += n; n == 0 {
				*c = r.from
				f.stuck = r.from.offset == base
			}
		}
	}
	return freed
}

var newline = []byte{'\n'}

// effective is the level that counts: a line that nobody gave a level is
// information.
func effective(l ul.Level) ul.Level {
	if l == ul.Unknown {
		return ul.Info
	}
	return l
}

// showDropped shows a line that may go to whoever wants to see lines: what they
// look for happens in a stall as well. It is shown once, also if it is looked
// at twice.
func (s *Source) showDropped(f *File, offset int64, line []byte, class ul.Class) {
	if s.cfg.OnLine != nil && offset >= max(f.shown, f.counted) {
		f.shown = offset + int64(len(line))
		s.cfg.OnLine(bytes.TrimSuffix(line, newline), class)
	}
}

// A run is lines side by side that may go.
type run struct {
	from  cursor // before the first of them
	lines [ul.NumLevels]uint32
	level ul.Level // of the last one
	bytes int
	fresh volume // what of it was not handed on before
}

// volume is what the metrics of reading count.
type volume struct {
	lines   [ul.NumLevels]uint32
	bytes   int
	dropped uint64 // lines that the JVM says that it dropped itself
}

func (r *run) take(line []byte, level ul.Level, begun bool, dropped uint64, fresh bool) {
	r.level = level
	r.bytes += len(line)
	if begun {
		r.lines[level]++
	}
	if !fresh {
		return
	}
	r.fresh.bytes += len(line)
	r.fresh.dropped += dropped
	if begun {
		r.fresh.lines[level]++
	}
}

// closeRun makes a gap of a run that ends at offset, if it has a whole page or
// touches a gap that it can be a part of. It returns how many bytes that gives
// back.
func (s *Source) closeRun(f *File, r *run, offset int64, open bool, reason ul.Reason) (freed int64) {
	if r.bytes == 0 {
		return 0
	}
	start := r.from.offset
	from, to := pagesBetween(start, offset)
	at := f.gapAt(start)
	touches := at > 0 && f.gaps[at-1].end.Offset == start && f.gaps[at-1].start >= f.read.Offset ||
		at < len(f.gaps) && f.gaps[at].start == offset
	if to == from && !touches {
		return 0
	}
	end, err := f.positionAt(offset)
	if err != nil {
		return 0 // truncated just now
	}
	end.Open, end.Level = open, r.level
	now := s.now()
	g := gap{start: start, end: end, Gap: ul.Gap{Bytes: uint64(r.bytes), First: now, Last: now}}
	s.countRead(f.stream, r.fresh)
	for level, n := range r.lines {
		if n > 0 {
			g.Lines[reason][level] = uint64(n)
			s.metrics.dropped.WithLabelValues(f.stream.label, ul.Level(level).String(), reason.String()).Add(float64(n))
		}
	}
	s.metrics.droppedSize.WithLabelValues(f.stream.label, reason.String()).Add(float64(r.bytes))
	f.addGap(g)
	return max(1, to-from)
}

// PunchGaps gives back the pages of the gaps. It is called when all of them are
// recorded.
func (s *Source) PunchGaps() {
	for _, f := range s.files {
		for i := range f.gaps {
			if g := &f.gaps[i]; g.unpunched {
				from, to := g.pages()
				g.unpunched = f.holds(g.end) && s.punchPages(f, from, to) < to
			}
		}
	}
}
