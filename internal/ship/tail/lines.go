package tail

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// A lineReader reads lines out of source files.
type lineReader struct {
	*env
	table  *source.Table
	sifter *sifter
}

// errStepped reports that the read position was moved over a hole, to an offset at which a
// record may begin.
var errStepped = errors.New("a hole was stepped over")

// next reads one chunk of f. The chunk ends no later than the next record of the spool begins.
// If next returns no bytes, there is no line for now.
func (l *lineReader) next(f *source.File, area []byte) (int, Chunk, error) {
	n, atEnd, err := l.fill(f, area)
	if err != nil {
		return 0, Chunk{}, err
	}
	if n > 0 && (area[0] == 0 || area[n-1] == 0) && f.Read.Offset+int64(n) > f.Read.HoleFreeTo {
		if hole, err := findHole(f, n); hole.found || err != nil {
			return l.cutAt(f, hole, area, err)
		}
	}
	recounted := f.Read.Offset < f.Counted.To
	keep := f.Stream.Class.Whole(area[:bytes.LastIndexByte(area[:n], '\n')+1])
	switch {
	case keep > 0:
		return l.take(f, area[:keep])
	case recounted && n == int(f.Counted.To-f.Read.Offset):
		// This piece was handed on before, as the end of a chunk.
		return l.take(f, area[:n])
	case n > l.cfg.LineLimit:
		return l.take(f, area[:l.cfg.LineLimit])
	case n > 0 && f.Records.BeginAt(f.Read.Offset+int64(n)):
		return l.take(f, area[:n])
	case atEnd && (n > 0 || f.Read.Open) && !f.Read.Ended && l.mayEnd(f):
		return l.takeRest(f, area, n)
	}
	return 0, Chunk{}, nil
}

// fill reads from f until it has a line end, more than LineLimit bytes, or
// the end of the file.
func (l *lineReader) fill(f *source.File, area []byte) (n int, atEnd bool, err error) {
	most := l.cfg.LineLimit + 1
	if again := f.Counted.To - f.Read.Offset; again > 0 {
		// This data is read again after a rewind: stop where a chunk ended, so that no line
		// is counted as read twice.
		most = int(min(int64(most), again))
	}
	most = f.Records.Limit(f.Read.Offset, most)
	first := min(blockBytes, most)
	n, rewritten, err := pread(f, area[:first])
	if err != nil {
		return 0, false, err
	}
	if rewritten {
		return 0, false, source.ErrRewritten
	}
	if n < first || n == most || bytes.IndexByte(area[:n], '\n') >= 0 {
		return n, n < first, nil
	}
	more, err := preadAfter(f, area[n:most], n)
	return n + more, n+more < most, err
}

// pread reads area from the read position. In the same call, it reads the bytes before that
// position and compares them with the bytes that were consumed. It sets rewritten if they
// differ or are gone.
func pread(f *source.File, area []byte) (n int, rewritten bool, err error) {
	var overlap [position.CheckBytes]byte
	before := f.Read.LastBytes()
	n, err = unix.Preadv(f.Inode.FD, [][]byte{overlap[:len(before)], area}, f.Read.Offset-int64(len(before)))
	if err != nil {
		return 0, false, f.Failed("read", err)
	}
	if n == 0 && f.Read.Offset > 0 && len(before) == 0 {
		size, _, err := f.Inode.Stat()
		if err != nil {
			return 0, false, f.Failed("stat", err)
		}
		return 0, size < f.Read.Offset, nil
	}
	if n < len(before) || !bytes.Equal(overlap[:len(before)], before) || f.Inode.Refilled() {
		return 0, true, nil
	}
	return n - len(before), false, nil
}

// preadAfter reads area, which begins n bytes after the read position. The
// caller has just read those n bytes.
func preadAfter(f *source.File, area []byte, n int) (int, error) {
	more, err := unix.Pread(f.Inode.FD, area, f.Read.Offset+int64(n))
	if err != nil {
		return 0, f.Failed("read", err)
	}
	return more, nil
}

// cutAt hands on the lines before a hole, or skips the hole. If the hole cuts off a line, cutAt
// ends the line.
func (l *lineReader) cutAt(f *source.File, h hole, area []byte, err error) (int, Chunk, error) {
	switch {
	case err != nil:
		return 0, Chunk{}, err
	case h.data > 0:
		return l.stepOver(f, area, h.data)
	case h.at <= f.Read.Offset:
		return 0, Chunk{}, nil // the hole was punched just now; the next read sees it
	}
	// Whole lines before the hole come first; then comes the line that it cuts off.
	before := area[:h.at-f.Read.Offset]
	if keep := bytes.LastIndexByte(before, '\n') + 1; keep > 0 {
		before = before[:keep]
	}
	return l.take(f, before)
}

// stepOver moves the read position over a hole to the offset data.
func (l *lineReader) stepOver(f *source.File, area []byte, data int64) (int, Chunk, error) {
	l.metrics.holeBytes.Add(float64(data - f.Read.Offset))
	l.noteUnwritten(f, data)
	first := f.Read.Offset >= f.Counted.To
	open := f.Read.Open
	f.Read.Jump(data)
	f.Read.Open = false
	f.Counted.To = max(f.Counted.To, data)
	if !open {
		return 0, Chunk{}, errStepped
	}
	var lines [ul.NumLevels]uint32
	lines[f.Read.OpenLevel]++
	area[0] = '\n'
	c := l.chunk(f, lines, 0, 0, first)
	if l.sifter.holds(f.Stream, f.Read.OpenLevel) {
		c.Withheld = 1
	}
	return 1, c, nil
}

// noteUnwritten logs if a skipped hole reaches to the end of a file that has a writer. A writer that maps its file
// extends the file first and writes later. Its lines would then be before the read position and would not be read.
func (l *lineReader) noteUnwritten(f *source.File, data int64) {
	size, _, err := f.Inode.Stat()
	if err != nil || data < size || f.Writerless(l.now()) {
		return
	}
	// messages.md#the-source: Its writer maps the file into memory, as Log4j's `MemoryMappedFile` does. ullage reads
	// the writer's lines only after the writer has truncated the file to its content. If the writer is killed
	// (`kill -9`), they are lost. See [the logs of applications](application.md#settings). Logged once.
	l.log.once("unwritten", "source file is longer than its content", "file", f.Entry.Name, "stream", f.Stream.Name,
		"hint", "a writer that maps its file into memory is not supported; with Log4j, use File or RandomAccessFile")
}

// mayEnd reports whether f is complete, so that the bytes after its last newline are its last
// line.
func (l *lineReader) mayEnd(f *source.File) bool {
	quiet := !f.Growth.Young || l.table.Draining || f.Entry.Name == "" || f.Stream.Superseded(f)
	return quiet && f.Writerless(l.now())
}

// take hands on data, which is at the read position.
func (l *lineReader) take(f *source.File, data []byte) (int, Chunk, error) {
	first := f.Read.Offset >= f.Counted.To
	lines, dropped, made := l.classify(f, data, first)
	f.Read.Advance(data)
	f.Read.Open = data[len(data)-1] != '\n'
	f.Read.Ended = false
	if first {
		f.Counted.Rest = false
	}
	c := l.chunk(f, lines, dropped, len(data), first)
	c.Made = made
	c.Withheld = l.sifter.sift(data)
	return len(data), c, nil
}

// takeRest hands on the n bytes after the last line end of a file without a writer,
// followed by a line end.
func (l *lineReader) takeRest(f *source.File, area []byte, n int) (int, Chunk, error) {
	// The file is read once more: a writer may have written to it before closing it just
	// now.
	again, _, err := l.fill(f, area)
	if err != nil || again != n || n > 0 && bytes.IndexByte(area[:n], '\n') >= 0 {
		l.table.Touch(f)
		return 0, Chunk{}, err
	}
	first := f.Read.Offset >= f.Counted.To && !f.Counted.Rest
	area[n] = '\n'
	lines, dropped, made := l.classify(f, area[:n+1], first)
	if n > 0 {
		f.Read.Advance(area[:n])
	}
	f.Read.Open = false
	f.Read.Ended = true
	f.Counted.Rest = true
	c := l.chunk(f, lines, dropped, n, first)
	c.Made = made
	c.Withheld = l.sifter.sift(area[:n+1])
	return n + 1, c, nil
}

// chunk describes the bytes that were just handed on and counts them if they are new.
func (l *lineReader) chunk(f *source.File, lines [ul.NumLevels]uint32, dropped uint64, sourceBytes int, first bool) Chunk {
	if f.Read.Level = f.Stream.Class.Level(); f.Read.Open {
		f.Read.Level = f.Read.OpenLevel
	}
	f.Queued = f.Read.Position
	if first {
		f.Counted.To = f.Read.Offset
		l.metrics.countRead(f.Stream.Label, volume{lines, sourceBytes, dropped})
	}
	if f.Read.Offset > f.Growth.Size {
		l.table.Grow(f, f.Read.Offset, l.now())
	}
	return Chunk{File: File{f}, End: f.Read.Position, Lines: lines, Read: l.now()}
}

// classify counts, by level, the lines that end in data. When data is handed on for the first
// time, classify passes its lines to [Outlets.Line]. A line that began in an earlier piece has
// the level of its beginning, and was passed on then. made counts the bytes of markers, which
// the sidecar wrote, not the JVM.
func (l *lineReader) classify(f *source.File, data []byte, first bool) (lines [ul.NumLevels]uint32, dropped uint64, made int) {
	show := l.to.Line
	if !first {
		show = nil
	}
	if f.Read.Relevel {
		f.Read.Relevel = false
		f.Stream.Class.Resume(f.Read.Level)
	}
	open := f.Read.Open
	l.noteCuts(f, data, f.Read.Offset, open)
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line, rest := data, data[len(data):]
		if end >= 0 {
			line, rest = data[:end], data[end+1:]
		}
		level := f.Read.OpenLevel
		if !open {
			class := f.Stream.Class.Classify(line, rest)
			level, dropped = class.Level, dropped+class.Dropped
			if show != nil {
				show(f.Stream.Label, line, class)
			}
		}
		if end < 0 {
			l.sifter.take(f.Stream, len(line), level)
			f.Read.OpenLevel = level
			break
		}
		if _, marker := f.Stream.Marker(line); marker && !open {
			l.sifter.take(f.Stream, end+1, ul.Error)
			made += end + 1
		} else {
			l.sifter.take(f.Stream, end+1, level)
			lines[level]++
		}
		open = false
		data = rest
	}
	l.noteFormat(f.Stream)
	return lines, dropped, made
}

// noteFormat logs the format of a stream once a header shows it, unless it is UL. Applications
// can create any number of streams, so noteFormat logs at most one format a minute, and the
// others later.
func (l *lineReader) noteFormat(st *source.Stream) {
	found := st.Class.Format()
	if st.Format != format.Auto || found == format.Auto || found == format.UL || !l.log.format.Allow(l.now()) {
		return
	}
	st.Format = found
	// messages.md#the-source: `format` is `pattern`, `jul` or `json`; Unified Logging is not
	// reported. Logged at most once a minute. See [the logs of applications](application.md).
	l.log.Info("recognized the format of a stream", "stream", st.Label, "format", found.String())
}
