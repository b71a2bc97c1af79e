package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
)

const (
	batchLines = 4096
	batchBytes = 256 << 10

	// maxLine bounds a line in memory. A longer line is delivered in pieces; the sidecar also
	// persists it in pieces.
	maxLine = 1 << 20
)

// lineFeed cuts the committed bytes of one stream into batches of lines.
//
//	segment → Follower → buf → lines → batch
//
// buf holds bytes of one segment, beginning with the first unacknowledged byte. ends are the
// ends of the frames in buf. A later feed can begin only at the end of a frame, so the cursor
// counts acknowledged bytes from the last such end.
type lineFeed struct {
	follower *segment.Follower
	memory   *lineMemory
	trouble  func(error) // called with the error if the Follower could not return some bytes
	dates    dating

	done  cursor // acknowledged
	skip  int64  // bytes that the Follower returns again, since the feed began inside a frame
	buf   []byte
	ends  []frameEnd
	fresh []frame // the frames of buf that the clock has not received yet
	taken int64   // bytes that have left buf
	ahead []byte  // the first frame of the next segment, in the Follower's memory
	whole bool    // the bytes after buf are missing or in another segment: buf's last line may lack a newline

	batch Batch
	cut   int // bytes of buf that the batch takes
}

// lineMemory is memory that the feeds of a worker use one after another. Without it, each turn
// of a stream would allocate a decoder and buffers. The zero value is empty.
type lineMemory struct {
	follower segment.Memory
	buf      []byte
	lines    []Line
	ends     []frameEnd
	seek     seekFile
}

// seekFile is the content of a seek file, and the file's state when it was read. A changed file
// is read again: at most once per 10 s or per 1 MiB of the stream.
type seekFile struct {
	path  string
	was   fs.FileInfo
	index *seek.Index
}

// index returns the seek file in the directory of a stream, or nil if it cannot be read.
func (m *lineMemory) index(dir string) *seek.Index {
	path := filepath.Join(dir, seek.Name)
	info, err := os.Lstat(path)
	if err != nil {
		m.seek = seekFile{}
		return nil
	}
	if s := m.seek; s.path != path || !os.SameFile(s.was, info) || s.was.Size() != info.Size() || !s.was.ModTime().Equal(info.ModTime()) {
		m.seek = seekFile{path, info, seek.Read(dir, seek.MaxBytes)}
	}
	return m.seek.index
}

// frame is a frame in buf. The clock must receive the frame before its lines are dated.
type frame struct {
	segment.Frame
	begin, end int64 // of its bytes, counted among all bytes that buf has held
}

// frameEnd is the end of a frame in a segment.
type frameEnd struct{ disk, raw int64 }

// newLineFeed returns a feed that begins at c, with a new Classifier. committed is as in
// [segment.FollowOptions]. The feed uses m until the feed is closed.
func newLineFeed(dir, stream string, class format.Classifier, c cursor, m *lineMemory, committed func() (segment.Mark, bool), trouble func(error)) (*lineFeed, error) {
	follower, err := segment.OpenFollower(dir, segment.FollowOptions{From: c.place(), Memory: &m.follower, Committed: committed})
	if err != nil {
		return nil, fmt.Errorf("follow stream %s: %w", stream, err)
	}
	f := &lineFeed{follower: follower, trouble: trouble, dates: newDating(class), done: c, skip: c.Skip, batch: Batch{Stream: stream, Lines: m.lines[:0]},
		memory: m, buf: m.buf[:0], ends: m.ends[:0]}
	f.dates.Class.Resume(c.Level)
	f.dates.resume(c.Dates)
	f.dates.Clock.Index = func() *seek.Index { return m.index(dir) }
	return f, nil
}

// next returns the next batch, which is valid until acknowledge. The caller must call acknowledge
// before it calls next again. The error is io.EOF if nothing more is committed, or a
// [*segment.ReadError].
func (f *lineFeed) next() (*Batch, error) {
	for {
		err := f.fill()
		if f.lines(); f.cut > 0 {
			return &f.batch, nil // the next call returns the error again
		}
		if err != nil {
			return nil, err
		}
	}
}

// acknowledge moves the cursor past the batch and returns it.
func (f *lineFeed) acknowledge() cursor {
	at := f.done.Raw + f.done.Skip + int64(f.cut)
	f.buf = f.buf[:copy(f.buf, f.buf[f.cut:])]
	f.taken += int64(f.cut)
	passed := 0
	for ; passed < len(f.ends) && f.ends[passed].raw <= at; passed++ {
		f.done.Offset, f.done.Raw = f.ends[passed].disk, f.ends[passed].raw
	}
	f.ends = f.ends[:copy(f.ends, f.ends[passed:])]
	f.done.Skip, f.done.Level, f.done.Dates = at-f.done.Raw, f.dates.Class.Level(), f.dates.dates()
	f.cut = 0
	return f.done
}

func (f *lineFeed) close() {
	_ = f.follower.Close() // the follower only reads, so an error loses nothing
	f.memory.lines, f.memory.ends = f.batch.Lines, f.ends
	if f.memory.buf = f.buf; cap(f.buf) > maxLine {
		f.memory.buf = nil
	}
}

// fill reads until buf holds enough for a batch, until the next bytes belong to another batch, or
// until an error.
func (f *lineFeed) fill() error {
	if len(f.buf) == 0 {
		f.whole = false
		if ahead := f.ahead; ahead != nil {
			f.ahead = nil
			f.enter(ahead)
		}
	}
	for !f.enough() {
		raw, err := f.follower.Next()
		var gone *segment.GoneError
		var damaged *segment.DamageError
		switch {
		case errors.As(err, &gone), errors.As(err, &damaged):
			f.trouble(err)
			f.whole = len(f.buf) > 0
		case err != nil:
			return err
		case f.follower.Segment().Name == f.done.Segment:
			f.add(raw)
		case len(f.buf) == 0:
			f.enter(raw)
		default:
			f.ahead, f.whole = raw, true
		}
	}
	return nil
}

// enough reports whether buf holds enough for a batch: at least one line, or a piece of one.
func (f *lineFeed) enough() bool {
	return f.whole || len(f.buf) >= maxLine || len(f.buf) >= batchBytes && bytes.IndexByte(f.buf, '\n') >= 0
}

// enter begins the next segment with raw, its first frame.
func (f *lineFeed) enter(raw []byte) {
	f.done, f.skip, f.ends = cursor{Segment: f.follower.Segment().Name, Level: f.done.Level, Dates: f.done.Dates}, 0, f.ends[:0]
	f.fresh = f.fresh[:0]
	f.add(raw)
}

// add appends a frame of the same segment to buf.
func (f *lineFeed) add(raw []byte) {
	f.batch.Segment = f.follower.Segment()
	n := min(f.skip, int64(len(raw)))
	f.skip -= n
	f.buf = append(f.buf, raw[n:]...)
	at := f.follower.Frame()
	f.ends = append(f.ends, frameEnd{at.End, at.Raw})
	if n < int64(len(raw)) {
		end := f.taken + int64(len(f.buf))
		f.fresh = append(f.fresh, frame{at, end - int64(len(raw)) + n, end})
	}
}

// lines cuts the lines of a batch out of buf.
func (f *lineFeed) lines() {
	f.batch.Lines, f.batch.Bytes, f.cut = f.batch.Lines[:0], 0, 0
	begin := f.done.Raw + f.done.Skip
	for f.cut < len(f.buf) && f.cut < batchBytes && len(f.batch.Lines) < batchLines {
		rest := f.buf[f.cut:]
		text := rest
		n, ends := cut.First(rest, maxLine)
		switch {
		case ends:
			text = rest[:n-1]
		case n > 0:
			text = rest[:n]
		case f.whole:
			n = len(rest)
		default:
			f.batch.Bytes = int64(f.cut)
			return
		}
		f.line(begin+int64(f.cut), text, rest[n:])
		f.cut += n
	}
	f.batch.Bytes = int64(f.cut)
}

// line adds a line to the batch. rest holds the known bytes after the line.
func (f *lineFeed) line(offset int64, text, rest []byte) {
	f.clock(f.cut + len(text))
	class, at := f.dates.line(&f.batch.Segment, text, rest)
	f.batch.Lines = append(f.batch.Lines, Line{Offset: offset, Text: text, Time: at, Class: class})
}

// clock passes the frames of buf to the clock, up to the frame with the byte at this offset.
// So, as in other readers, the clock has received all frames of a line before the line is
// dated.
func (f *lineFeed) clock(offset int) {
	for len(f.fresh) > 0 && f.fresh[0].begin-f.taken <= int64(offset) {
		next := f.fresh[0]
		f.fresh = f.fresh[1:]
		f.dates.Frame(f.batch.Segment, next.Frame, f.buf[next.begin-f.taken:next.end-f.taken])
	}
}
