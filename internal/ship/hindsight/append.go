package hindsight

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/frame"
	"github.com/ullage/ullage/internal/ship/position"
)

// Append holds a batch. It frees the records that no trigger can save any more, and the
// oldest records if there is no room otherwise. After an error, the log holds nothing: the
// next batch must not seem to follow the previous one.
func (l *Log) Append(b Batch) error {
	if len(b.Raw) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.add(b); err != nil {
		l.now.Head, l.first = l.now.End, nil
		return fmt.Errorf("hold lines: %w", err)
	}
	return nil
}

// add is like Append, but keeps the held records after an error.
func (l *Log) add(b Batch) error {
	if l.file == nil {
		return errNoFile
	}
	packed, err := l.codec.Compress(b.Raw)
	if err != nil {
		return err
	}
	h := head{stream: b.Stream, since: l.nanos(b.Since), read: l.nanos(b.Read), lines: b.Lines,
		raw: uint32(len(b.Raw)), frame: uint32(len(packed)), check: position.Checksum(packed), at: l.now.End}
	l.expire(h.since)
	l.endSaving(h.since)
	if h.end()-h.at > l.limit {
		return fmt.Errorf("a record of %d bytes exceeds what the hindsight may hold", h.end()-h.at)
	}
	for h.end()-l.now.Head > l.limit && l.drop() {
	}
	l.buf = append(h.append(l.buf[:0]), packed...)
	_, err = l.file.WriteAt(l.buf, h.at)
	for errors.Is(err, unix.ENOSPC) {
		frame.Punch(l.file, h.at+position.PageSize-1, h.end()+position.PageSize-1)
		if !l.drop() {
			break
		}
		l.free()
		_, err = l.file.WriteAt(l.buf, h.at)
	}
	if err != nil {
		return err
	}
	l.own.Add(h.at, l.buf)
	l.now.End = h.end()
	return nil
}

// expire forgets the records that were read before the window, but keeps records that still have to
// be saved. The window ends at since, the earliest time at which the newest lines were written.
func (l *Log) expire(since int64) {
	for h := l.peek(); h != nil && h.read < since-int64(l.window) && !l.wanted(h); h = l.peek() {
		l.drop()
	}
}

// endSaving ends the saving once lines arrive that were written after its end. Otherwise, a restart
// would also save the lines that it finds in the source: until the reader has caught up, the
// earliest time at which they were written is long ago.
func (l *Log) endSaving(since int64) {
	if h, until := l.peek(), l.until.Load(); since > until && (h == nil || !l.wanted(h)) {
		l.until.CompareAndSwap(until, 0)
	}
}

// wanted reports whether the lines of a record should be saved. A record that seems to be of the future is of an earlier
// process, after whose start the clock was set back: it must not keep the later records from being saved.
func (l *Log) wanted(h *head) bool { return min(h.since, l.nanos(time.Now())) < l.until.Load() }

// drop forgets the oldest record, and reports whether there was one.
func (l *Log) drop() bool {
	h := l.peek()
	if h == nil {
		return false
	}
	l.now.Head, l.first = h.end(), nil
	return true
}

// peek returns the head of the oldest record, or nil. If the bytes there are not a record,
// the log forgets everything that it holds.
func (l *Log) peek() *head {
	if l.first != nil || l.file == nil || l.now.Head >= l.now.End {
		return l.first
	}
	var b [headBytes + maxName]byte
	n, _ := l.file.ReadAt(b[:min(int64(len(b)), l.now.End-l.now.Head)], l.now.Head)
	h, err := parseHead(b[:n])
	if h.at = l.now.Head; err != nil || h.end() > l.now.End {
		l.now.Head = l.now.End
		return nil
	}
	l.first = &h
	return l.first
}

// Next returns the oldest committed record if its lines should be saved. [Log.Saved] then moves
// past it. The record's Raw is nil if raw is false and this process is known to have written the
// frame: then the frame is known to be intact without being decompressed.
func (l *Log) Next(raw bool) (r Record, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.peek()
	if h == nil || h.end() > l.committed.End || !l.wanted(h) {
		return Record{}, false
	}
	r = Record{head: *h}
	r.Batch = Batch{Stream: h.stream, Since: l.time(h.since), Read: l.time(h.read), Lines: h.lines}
	if err := l.read(&r, raw); err != nil {
		l.now.Head, l.first = l.now.End, nil
		return Record{}, false
	}
	return r, true
}

// read reads the frame of a record. It also decompresses the lines if raw is set or the frame
// must be checked.
func (l *Log) read(r *Record, raw bool) error {
	l.buf = r.append(l.buf[:0])
	begin := len(l.buf)
	l.buf = slices.Grow(l.buf, int(r.frame))[:begin+int(r.frame)]
	r.Frame = l.buf[begin:]
	if n, err := l.file.ReadAt(r.Frame, r.end()-int64(r.frame)); n < len(r.Frame) {
		return fmt.Errorf("read held lines: %w", err)
	}
	if !raw && l.own.Fit(r.at, l.buf) {
		return nil
	}
	lines, err := l.codec.Decompress(l.lines[:0], r.Frame, r.check, r.raw)
	if err != nil {
		return err
	}
	l.lines, r.Raw = lines, lines
	return nil
}

// Saved records that the lines of a record have been passed on.
func (l *Log) Saved(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.Head == r.at {
		l.now.Head, l.first = r.end(), nil
	}
}

// Forget forgets the lines that were appended for a stream since the last commit, because
// they will be read again. It keeps the records of other streams.
func (l *Log) Forget(stream string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := max(l.committed.End, l.now.Head)
	to := from
	for at := from; l.file != nil && at < l.now.End; {
		var b [headBytes + maxName]byte
		n, _ := l.file.ReadAt(b[:min(int64(len(b)), l.now.End-at)], at)
		h, err := parseHead(b[:n])
		if h.at = at; err != nil || h.end() > l.now.End {
			break
		}
		at = h.end()
		if h.stream == stream {
			continue
		}
		l.buf = append(l.buf[:0], make([]byte, h.end()-h.at)...)
		if _, err := l.file.ReadAt(l.buf, h.at); err != nil {
			break
		}
		if _, err := l.file.WriteAt(l.buf, to); err != nil {
			l.now.End, l.first = to, nil
			return fmt.Errorf("forget held lines: %w", err)
		}
		to += h.end() - h.at
	}
	l.now.End, l.first = max(to, l.now.Head), nil
	return nil
}
