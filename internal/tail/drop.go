package tail

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
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
	drop  bool     // ... which may go
}

// dropping is what a file has while lines of it are dropped.
type dropping struct {
	ahead cursor // lines before it were decided about, by level
	swept cursor // ... and none were kept before it
	shown int64  // dropped lines before it were shown
	stuck bool   // nothing is to be decided about now
}

// Drop decides that lines are dropped that were not handed on yet, until so
// many bytes can be given back that want is reached, or there are no more lines
// that may go, or it takes too long. With ul.Discard those below keep go,
// together with the further lines of their records; with ul.DropAll all of
// them. It returns how many bytes that gives back.
//
// Allowed is how much memory all streams may have together. A stream that has
// less than its share of it loses nothing; of the others the largest one goes
// first, and of its lines the oldest. Refused streams have no share, and go
// before all others, or alone.
//
// Nothing is given back yet: first the gaps have to be recorded, then
// [Source.PunchGaps] does it. Lines that share their pages with ones that stay
// are not dropped, since that would give back nothing.
func (s *Source) Drop(reason ul.Reason, keep ul.Level, want, allowed int64, refused bool) (freed int64) {
	if s.scratch == nil {
		s.scratch = make([]byte, max(s.cfg.LineLimit+1, blockBytes))
	}
	for _, f := range s.files {
		s.prepareDrop(f)
	}
	share := s.share(allowed)
	for deadline := s.now().Add(dropTime); freed < want && s.now().Before(deadline); {
		f := s.largestOver(0, reason, true)
		if f == nil && !refused {
			f = s.largestOver(share, reason, false)
		}
		if f == nil {
			break
		}
		n, err := s.dropFrom(f, reason, keep)
		if err != nil {
			s.metrics.readErrors.Inc()
			s.log.once("read", "reading a source file failed", "error", err, "hint", "each poll tries again")
			f.drops.stuck = true
		}
		freed += n
		f.stream.memory -= n
	}
	return freed
}

// dropTime bounds one Drop: what it dropped has to be given back.
const dropTime = 100 * time.Millisecond

// prepareDrop looks at f before lines of it are dropped. While the queue has no
// room nobody reads, and nobody else would see that it was truncated: what a
// JVM writes over it must not be taken for what was there.
func (s *Source) prepareDrop(f *File) {
	if f.drops == nil {
		if !f.punchable {
			return
		}
		f.drops = &dropping{}
	}
	f.drops.stuck = !f.punchable || f.unaligned
	size, _, err := f.sizeNow()
	if err == nil && size != f.size {
		s.grow(f, size)
	}
	reached := max(f.read.Offset, f.drops.ahead.offset, f.drops.swept.offset)
	sound := true
	if n := len(f.gaps); n > 0 {
		reached = max(reached, f.gaps[n-1].end.Offset)
		sound = size >= reached && f.intact(&f.gaps[n-1])
	}
	if err != nil || size < reached || !sound || !f.holds(f.read) {
		s.truncated(f)
	}
}

// undecided is how many bytes of f there are to decide about.
func (f *File) undecided(reason ul.Reason) int64 {
	if reason == ul.Discard {
		return max(0, f.size-max(f.drops.ahead.offset, f.read.Offset))
	}
	// What was kept before, in its place and in texts.
	at := max(f.drops.swept.offset, f.read.Offset)
	left := max(0, f.size-at)
	for i := f.gapAt(at); i < len(f.gaps); i++ {
		left -= f.gaps[i].end.Offset - f.gaps[i].start
		if t := f.gaps[i].text; t != nil {
			left += t.length
		}
	}
	return left
}

// dropFrom decides about one block of f.
func (s *Source) dropFrom(f *File, reason ul.Reason, keep ul.Level) (freed int64, err error) {
	c := &f.drops.ahead
	if reason == ul.DropAll {
		c = &f.drops.swept
		keep = ul.NumLevels
	}
	if c.offset < f.read.Offset {
		// Of a line that is handed on in part, the rest may go as well: one that
		// does not end would fill the source.
		*c = cursor{offset: f.read.Offset, open: f.read.Open, level: f.openLevel, drop: f.read.Open && reason == ul.DropAll}
		if f.read.Offset > 0 {
			c.class = f.stream.class
			c.class.Resume(f.read.Level)
		}
	}
	for g := f.gapOver(c.offset); g != nil; g = f.gapOver(c.offset) {
		if reason == ul.DropAll && g.text != nil && f.untold(g) {
			freed += s.dropText(f, g)
		}
		c.jump(g.end)
	}
	limit := f.size
	if at := f.gapAt(c.offset); at < len(f.gaps) {
		limit = min(limit, f.gaps[at].start)
	}
	data, err := s.readAhead(f, c, limit)
	s.countCut(f, data, c.offset)
	if err != nil || len(data) == 0 {
		f.drops.stuck = freed == 0
		return freed, err
	}
	freed += s.decide(f, c, data, limit, reason, keep)
	if f.drops.swept.offset > f.drops.ahead.offset {
		f.drops.ahead = f.drops.swept
	}
	return freed, nil
}

// jump moves the cursor behind a gap.
func (c *cursor) jump(to position.Position) {
	c.offset, c.open, c.level, c.drop = to.Offset, to.Open, to.Level, to.Open
	c.class.Resume(to.Level)
}

// readAhead reads from the cursor to limit at most, and over a hole: a block,
// or as much more as it takes for a line end. It returns nothing where there is
// no whole line yet.
func (s *Source) readAhead(f *File, c *cursor, limit int64) ([]byte, error) {
	for _, size := range []int{blockBytes, len(s.scratch)} {
		most := int(max(0, min(int64(size), limit-c.offset)))
		n, err := unix.Pread(f.fd, s.scratch[:most], c.offset)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", f.name, err)
		}
		data := s.scratch[:n]
		if n > 0 && data[0] == 0 {
			if at, err := f.nextData(c.offset); err == nil && at > c.offset {
				c.offset = min(at, limit)
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
// makes gaps of what may go. The last record in it waits, unless a gap follows:
// it may have further lines, which have to go with it.
func (s *Source) decide(f *File, c *cursor, data []byte, limit int64, reason ul.Reason, keep ul.Level) (freed int64) {
	r := run{from: *c, record: *c}
	base := c.offset
	for len(data) > 0 {
		line, ended := data, false
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, ended = data[:end+1], true
		}
		begun, dropped := !c.open, uint64(0)
		if begun {
			before := *c
			class := c.class.Classify(bytes.TrimSuffix(line, newline))
			c.level, c.drop, dropped = class.Level, effective(class.Level) < keep, class.Dropped
			if class.Kind != ul.Continuation {
				r.endRecord(before)
			}
			if c.drop {
				s.showDropped(f, c.offset, line, class)
			} else {
				freed += s.closeRun(f, &r, c.offset, false, reason)
			}
		}
		counts := begun || c.offset == f.read.Offset // the rest of one that is handed on in part
		c.offset += int64(len(line))
		c.open = !ended
		if data = data[len(line):]; c.drop {
			r.last.take(line, c.level, counts, dropped, c.offset > f.counted)
		} else {
			r = run{from: *c, record: *c}
		}
	}
	if c.open || c.offset == limit && limit < f.size || r.record.offset == base {
		r.endRecord(*c) // a piece of a line, all there is before a gap, or a very long record
	}
	at := r.record
	n := s.closeRun(f, &r, at.offset, at.open, reason)
	if freed += n; n == 0 && r.whole.bytes > 0 && (c.offset < limit || limit == f.size) {
		at = r.from // it may grow; what is left before a gap cannot, and stays
	}
	if at.offset == base {
		f.drops.stuck = true // until there is more
	}
	if c.drop {
		*c = at
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
	if s.cfg.OnLine != nil && offset >= max(f.drops.shown, f.counted) {
		f.drops.shown = offset + int64(len(line))
		s.cfg.OnLine(bytes.TrimSuffix(line, newline), class)
	}
}

// A run is records side by side that may go.
type run struct {
	from   cursor // before the first of them
	whole  lines
	record cursor // before the last of them, which may not be whole
	last   lines
}

// lines is what is counted of lines.
type lines struct {
	levels [ul.NumLevels]uint32
	level  ul.Level // of the last one
	bytes  int
	fresh  volume // what of it was not handed on before
}

// volume is what the metrics of reading count.
type volume struct {
	lines   [ul.NumLevels]uint32
	bytes   int
	dropped uint64 // lines that the JVM says that it dropped itself
}

// endRecord takes in that the last record is whole, and ends at c.
func (r *run) endRecord(c cursor) {
	r.record = c
	if r.last.bytes == 0 {
		return
	}
	w, l := &r.whole, &r.last
	for level := range l.levels {
		w.levels[level] += l.levels[level]
		w.fresh.lines[level] += l.fresh.lines[level]
	}
	w.level = l.level
	w.bytes += l.bytes
	w.fresh.bytes += l.fresh.bytes
	w.fresh.dropped += l.fresh.dropped
	r.last = lines{}
}

func (l *lines) take(line []byte, level ul.Level, counts bool, dropped uint64, fresh bool) {
	l.level = level
	l.bytes += len(line)
	if counts {
		l.levels[level]++
	}
	if !fresh {
		return
	}
	l.fresh.bytes += len(line)
	l.fresh.dropped += dropped
	if counts {
		l.fresh.lines[level]++
	}
}

// closeRun makes a gap of a run that ends at offset, if it has a whole page or
// touches a gap that it can be a part of. It returns how many bytes that gives
// back, at least one.
func (s *Source) closeRun(f *File, r *run, offset int64, open bool, reason ul.Reason) (freed int64) {
	w := &r.whole
	if w.bytes == 0 {
		return 0
	}
	now := s.now()
	g := gap{start: r.from.offset, end: position.Position{Offset: offset}, Gap: ul.Gap{Bytes: uint64(w.bytes), First: now, Last: now}}
	before, behind := f.touches(g.start, offset)
	if g.frees() == 0 && !before && !behind {
		return 0
	}
	end, err := position.At(f.fd, offset)
	if err != nil {
		return 0 // truncated just now
	}
	end.Open, end.Level = open, w.level
	g.end = end
	for level, n := range w.levels {
		g.Lines[reason][level] = uint64(n)
	}
	s.countRead(f.stream, w.fresh)
	s.metrics.dropped.add(f.stream.label, reason, g.Lines[reason], g.Bytes)
	return max(1, f.addGap(g))
}
