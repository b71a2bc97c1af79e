package tail

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// A lineReader reads lines out of source files.
type lineReader struct {
	*env
	contents *contents
	sifter   *sifter
}

// errStepped says that the read position was moved over a hole, to where
// something else may stand: a record.
var errStepped = errors.New("a hole was stepped over")

var newline = []byte{'\n'}

// next reads one chunk of f up to the next record. No bytes mean that there is
// none for now.
func (l *lineReader) next(f *File, area []byte) (int, Chunk, error) {
	n, atEnd, err := l.fill(f, area)
	if err != nil {
		return 0, Chunk{}, err
	}
	if n > 0 && (area[0] == 0 || area[n-1] == 0) && f.read.Offset+int64(n) > f.read.holeFreeTo {
		if hole, err := findHole(f, n); hole.found || err != nil {
			return l.cutAt(f, hole, area, err)
		}
	}
	recounted := f.read.Offset < f.counted.to
	keep := f.stream.class.Whole(area[:bytes.LastIndexByte(area[:n], '\n')+1])
	switch {
	case keep > 0:
		return l.take(f, area[:keep])
	case recounted && n == int(f.counted.to-f.read.Offset):
		// This piece was handed on before: its end is that of a chunk.
		return l.take(f, area[:n])
	case n > l.cfg.LineLimit:
		return l.take(f, area[:l.cfg.LineLimit])
	case n > 0 && f.records.beginAt(f.read.Offset+int64(n)):
		return l.take(f, area[:n])
	case atEnd && (n > 0 || f.read.Open) && !f.read.ended && l.mayEnd(f):
		return l.takeRest(f, area, n)
	}
	return 0, Chunk{}, nil
}

// fill reads from f until it has a line end, more than LineLimit bytes, or
// the end of the file.
func (l *lineReader) fill(f *File, area []byte) (n int, atEnd bool, err error) {
	most := l.cfg.LineLimit + 1
	if again := f.counted.to - f.read.Offset; again > 0 {
		// Reading again after a rewind: end where a chunk ended, so that no
		// line is counted as read twice.
		most = int(min(int64(most), again))
	}
	most = f.records.limit(f.read.Offset, most)
	first := min(blockBytes, most)
	n, rewritten, err := pread(f, area[:first])
	if err != nil {
		return 0, false, err
	}
	if rewritten {
		return 0, false, errRewritten
	}
	if n < first || n == most || bytes.IndexByte(area[:n], '\n') >= 0 {
		return n, n < first, nil
	}
	more, err := preadBehind(f, area[n:most], n)
	return n + more, n+more < most, err
}

// pread reads area from the read position and compares, in the same call, the
// bytes before it with those that were consumed. rewritten says that they
// differ or are gone.
func pread(f *File, area []byte) (n int, rewritten bool, err error) {
	var overlap [position.CheckBytes]byte
	before := f.read.lastBytes()
	n, err = unix.Preadv(f.inode.fd, [][]byte{overlap[:len(before)], area}, f.read.Offset-int64(len(before)))
	if err != nil {
		return 0, false, f.failed("read", err)
	}
	if n == 0 && f.read.Offset > 0 && len(before) == 0 {
		size, _, err := f.inode.stat()
		if err != nil {
			return 0, false, f.failed("stat", err)
		}
		return 0, size < f.read.Offset, nil
	}
	if n < len(before) || !bytes.Equal(overlap[:len(before)], before) || f.inode.refilled() {
		return 0, true, nil
	}
	return n - len(before), false, nil
}

// preadBehind reads area from n bytes behind the read position, which the
// caller has just read.
func preadBehind(f *File, area []byte, n int) (int, error) {
	more, err := unix.Pread(f.inode.fd, area, f.read.Offset+int64(n))
	if err != nil {
		return 0, f.failed("read", err)
	}
	return more, nil
}

// cutAt hands on what stands before a hole, or steps over it. A line that the
// hole cuts off is ended.
func (l *lineReader) cutAt(f *File, h hole, area []byte, err error) (int, Chunk, error) {
	switch {
	case err != nil:
		return 0, Chunk{}, err
	case h.data > 0:
		return l.stepOver(f, area, h.data)
	case h.at <= f.read.Offset:
		return 0, Chunk{}, nil // it was punched just now: the next read sees that
	}
	// Whole lines before the hole first; then what it cuts off.
	before := area[:h.at-f.read.Offset]
	if keep := bytes.LastIndexByte(before, '\n') + 1; keep > 0 {
		before = before[:keep]
	}
	return l.take(f, before)
}

// stepOver moves the read position to data, over a hole.
func (l *lineReader) stepOver(f *File, area []byte, data int64) (int, Chunk, error) {
	l.metrics.holeBytes.Add(float64(data - f.read.Offset))
	first := f.read.Offset >= f.counted.to
	open := f.read.Open
	f.read.jump(data)
	f.read.Open = false
	f.counted.to = max(f.counted.to, data)
	if !open {
		return 0, Chunk{}, errStepped
	}
	var lines [ul.NumLevels]uint32
	lines[f.read.openLevel]++
	area[0] = '\n'
	c := l.chunk(f, lines, 0, 0, first)
	if l.sifter.holds(f.stream, f.read.openLevel) {
		c.Withheld = 1
	}
	return 1, c, nil
}

// mayEnd reports whether what stands behind the last line end of f is all
// that will ever come.
func (l *lineReader) mayEnd(f *File) bool {
	quiet := !f.young || l.contents.draining || f.name == "" || f.stream.superseded(f)
	return quiet && f.writerless(l.now())
}

// take hands on data, which lies at the read position.
func (l *lineReader) take(f *File, data []byte) (int, Chunk, error) {
	first := f.read.Offset >= f.counted.to
	lines, dropped, made := l.classify(f, data, first)
	f.read.advance(data)
	f.read.Open = data[len(data)-1] != '\n'
	f.read.ended = false
	if first {
		f.counted.rest = false
	}
	c := l.chunk(f, lines, dropped, len(data), first)
	c.Made = made
	c.Withheld = l.sifter.sift(data)
	return len(data), c, nil
}

// takeRest hands on the n bytes behind the last line end of a file that
// nobody writes any more, and a line end behind them.
func (l *lineReader) takeRest(f *File, area []byte, n int) (int, Chunk, error) {
	// Read once more: there may have been a writer until just now.
	again, _, err := l.fill(f, area)
	if err != nil || again != n || n > 0 && bytes.IndexByte(area[:n], '\n') >= 0 {
		l.contents.touch(f)
		return 0, Chunk{}, err
	}
	first := f.read.Offset >= f.counted.to && !f.counted.rest
	area[n] = '\n'
	lines, dropped, made := l.classify(f, area[:n+1], first)
	if n > 0 {
		f.read.advance(area[:n])
	}
	f.read.Open = false
	f.read.ended = true
	f.counted.rest = true
	c := l.chunk(f, lines, dropped, n, first)
	c.Made = made
	c.Withheld = l.sifter.sift(area[:n+1])
	return n + 1, c, nil
}

// chunk describes what was just handed on, and counts it if it is new.
func (l *lineReader) chunk(f *File, lines [ul.NumLevels]uint32, dropped uint64, sourceBytes int, first bool) Chunk {
	if f.read.Level = f.stream.class.Level(); f.read.Open {
		f.read.Level = f.read.openLevel
	}
	f.queued = f.read.Position
	if first {
		f.counted.to = f.read.Offset
		l.metrics.countRead(f.stream.label, volume{lines, sourceBytes, dropped})
	}
	if f.read.Offset > f.size {
		l.contents.grow(f, f.read.Offset, l.now())
	}
	return Chunk{File: f, End: f.read.Position, Lines: lines, Read: l.now()}
}

// classify counts the lines that end in data by level, and shows them, if this
// is the first time, to whoever wants to see lines. A line that was begun in an
// earlier piece has the level of its beginning, and was shown then. Made are the bytes of
// markers that the sidecar itself wrote, which are no lines of the JVM.
func (l *lineReader) classify(f *File, data []byte, first bool) (lines [ul.NumLevels]uint32, dropped uint64, made int) {
	show := l.cfg.OnLine
	if !first {
		show = nil
	}
	if f.read.relevel {
		f.read.relevel = false
		f.stream.class.Resume(f.read.Level)
	}
	open := f.read.Open
	l.noteCuts(f, data, f.read.Offset, open)
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line, rest := data, data[len(data):]
		if end >= 0 {
			line, rest = data[:end], data[end+1:]
		}
		level := f.read.openLevel
		if !open {
			class := f.stream.class.Classify(line, rest)
			level, dropped = class.Level, dropped+class.Dropped
			if show != nil {
				show(f.stream.label, line, class)
			}
		}
		if end < 0 {
			l.sifter.take(f.stream, len(line), level)
			f.read.openLevel = level
			break
		}
		if _, marker := f.stream.marker(line); marker && !open {
			l.sifter.take(f.stream, end+1, ul.Error)
			made += end + 1
		} else {
			l.sifter.take(f.stream, end+1, level)
			lines[level]++
		}
		open = false
		data = rest
	}
	l.noteFormat(f.stream)
	return lines, dropped, made
}

// noteFormat logs in which format a stream is, once a header shows it and if it is not UL.
// Anybody can make streams, so it logs one of them a minute: the others follow.
func (l *lineReader) noteFormat(st *Stream) {
	found := st.class.Format()
	if st.format != format.Auto || found == format.Auto || found == format.UL || !l.log.notTooOften(&l.log.format, l.now()) {
		return
	}
	st.format = found
	l.log.Info("recognized the format of a stream", "stream", st.label, "format", found.String())
}
