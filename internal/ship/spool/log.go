package spool

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// reserveBytes is allocated after the last record, so that a record without
// lines can be appended when the tmpfs is full.
const reserveBytes = 64 << 10

// Log is the spool of one source. Make it with [Open].
type Log struct {
	file     *os.File
	end      int64 // where the next record begins
	reserved int64 // end of the allocated memory
	seq      uint64

	codec *codec // nil until the first payload
	head  []byte
	runs  []run
}

// Open reads the records in file, oldest first, and frees all memory that
// belongs to no record. The Log owns file from then on.
func Open(file *os.File) (*Log, []*Record, error) {
	l := &Log{file: file}
	found, err := l.walk()
	if err != nil {
		return nil, nil, fmt.Errorf("read the spool: %w", err)
	}
	records := newest(found)
	at := int64(0)
	for _, r := range records {
		l.punch(at, r.at)
		at = r.end()
		for p := range r.parts {
			if !r.Holds(Part(p)) {
				l.punch(r.place(Part(p)))
			}
		}
	}
	if len(records) == 0 {
		l.end = 0
		if err := file.Truncate(0); err != nil {
			return nil, nil, fmt.Errorf("empty the spool: %w", err)
		}
	} else {
		l.end = at
		if err := file.Truncate(at); err != nil {
			return nil, nil, fmt.Errorf("cut the spool: %w", err)
		}
	}
	l.reserve()
	return l, records, nil
}

// IsIn reports whether file is the log's file.
func (l *Log) IsIn(file *os.File) bool {
	own, err1 := l.file.Stat()
	other, err2 := file.Stat()
	return err1 == nil && err2 == nil && os.SameFile(own, other)
}

// Close closes the file and leaves the records in it.
func (l *Log) Close() error { return l.file.Close() }

// Memory returns how many bytes of memory the log uses.
func (l *Log) Memory() int64 {
	var st unix.Stat_t
	if unix.Fstat(int(l.file.Fd()), &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// reserve allocates memory for the next record without lines. If that fails,
// the next Append reports it.
func (l *Log) reserve() {
	if l.end+reserveBytes/2 <= l.reserved {
		return
	}
	if unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, l.end, reserveBytes) == nil {
		l.reserved = l.end + reserveBytes
	}
}

// Append appends the block as one record. A part with a reason in without is
// not stored, only counted. If the tmpfs has no room for the parts, Append
// drops them and stores the counts alone. After an error the log is unchanged.
func (l *Log) Append(b *Block, without Without) (*Record, error) {
	b.close()
	l.reserve() // there may be room by now
	r := &Record{Of: b.Of, Stream: b.Stream, From: b.From, End: b.End, first: b.Read, last: b.Read, sum: b.sum(), parts: b.parts}
	for p := range r.parts {
		part := &r.parts[p]
		if part.state = without[p]; part.raw == 0 {
			part.state = stored
		}
	}
	err := l.write(r, b)
	if errors.Is(err, unix.ENOSPC) {
		// Keep the reserved memory for the second attempt and for later
		// records.
		from, _ := r.place(Kept)
		l.punch(max(from, l.reserved), r.end())
		for p := range r.parts {
			if part := &r.parts[p]; part.held() {
				part.state = dropped
			}
		}
		err = l.write(r, b)
	}
	if err != nil {
		return nil, fmt.Errorf("append to the spool: %w", err)
	}
	return r, nil
}

// Without gives the reason why a part of a record is not stored. The zero value
// stores both parts.
type Without [2]state

// WithoutRest discards the rest and stores the kept lines.
func WithoutRest() Without { return Without{Rest: discarded} }

// WithoutLines drops all lines.
func WithoutLines() Without { return Without{Kept: dropped, Rest: dropped} }

// write writes a record at the end of the log: the parts, then the head.
func (l *Log) write(r *Record, b *Block) error {
	l.seq++
	r.seq, r.at = l.seq, l.end
	runs := b.runs
	if r.Empty() {
		runs = nil
	}
	// The parts follow the head, whose length depends on the runs.
	l.head = r.appendHead(l.head[:0], runs)
	for p := range r.parts {
		part := &r.parts[p]
		part.stored, part.check = 0, 0
		if !part.held() {
			continue
		}
		frame, err := l.compress(b, Part(p))
		if err != nil {
			return err
		}
		part.stored, part.check = uint32(len(frame)), position.Checksum(frame)
		from, _ := r.place(Part(p))
		if err := l.writeAt(frame, from); err != nil {
			return err
		}
	}
	l.head = r.appendHead(l.head[:0], runs)
	if err := l.writeAt(l.head, r.at); err != nil {
		return err
	}
	l.end = r.end()
	l.reserve()
	return nil
}

func (l *Log) writeAt(b []byte, at int64) error {
	_, err := l.file.WriteAt(b, at)
	return err
}

// Drop drops the lines of one part of r. It returns how many bytes of memory
// that freed.
func (l *Log) Drop(r *Record, p Part, why ul.Reason) (freed int64, err error) {
	part := &r.parts[p]
	if !part.held() {
		return 0, nil
	}
	if err := l.writeAt([]byte{byte(gone(why))}, r.at+atState+int64(p)); err != nil {
		return 0, fmt.Errorf("drop lines in the spool: %w", err)
	}
	part.state = gone(why)
	from, to := r.place(p)
	l.punch(from, to)
	return to - from, nil
}

// continues reports whether b begins where r ends.
func (r *Record) continues(b *Record) bool {
	return r.Of == b.Of && r.End.Offset == b.From
}

// Free frees all memory of r: the lines of r are durable, or another record
// replaces r.
func (l *Log) Free(r *Record) { l.punch(r.at, r.end()) }

// punch frees the pages between two offsets. It fails only on a file system
// that cannot punch holes, and the memory then stays in use.
func (l *Log) punch(from, to int64) {
	if to > from {
		_ = unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	}
}
