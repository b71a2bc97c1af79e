package spool

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/frame"
	"github.com/ullage/ullage/internal/ship/position"
)

// ReserveBytes is allocated after the last record, so that a record without
// lines can be appended when the tmpfs is full.
const ReserveBytes = 64 << 10

// Log is the spool of one source. Make it with [Open].
type Log struct {
	file     *os.File
	end      int64 // where the next record begins
	reserved int64 // end of the allocated memory
	seq      uint64

	codec frame.Codec
	lines []byte // joined lines of one part, before compression; or decompressed lines of both
	frame []byte // frame of one part, as it was read
	own   frame.Seals
	head  []byte
	runs  []run
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
	if l.end+ReserveBytes/2 <= l.reserved {
		return
	}
	if unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, l.end, ReserveBytes) == nil {
		l.reserved = l.end + ReserveBytes
	}
}

// Append appends the block as one record. A part is only counted, not stored, if without gives a
// reason for it. If the tmpfs has no room for the parts, Append drops them and stores the
// counts alone. After an error the log is unchanged.
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
		frame.Punch(l.file, max(from, l.reserved), r.end())
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
		packed, err := l.codec.Compress(l.linesOf(b, Part(p)))
		if err != nil {
			return err
		}
		part.stored, part.check = uint32(len(packed)), position.Checksum(packed)
		from, _ := r.place(Part(p))
		if err := l.writeAt(packed, from); err != nil {
			return err
		}
		l.own.Add(from, packed)
	}
	l.head = r.appendHead(l.head[:0], runs)
	if err := l.writeAt(l.head, r.at); err != nil {
		return err
	}
	l.end = r.end()
	l.reserve()
	return nil
}

// linesOf returns the lines of a part. They are valid until the next call.
func (l *Log) linesOf(b *Block, which Part) []byte {
	if int(b.parts[which].raw) == len(b.data) {
		return b.data
	}
	l.lines = b.split(slices.Grow(l.lines[:0], int(b.parts[which].raw)), which)
	return l.lines
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
	frame.Punch(l.file, from, to)
	return to - from, nil
}

// continues reports whether b begins where r ends.
func (r *Record) continues(b *Record) bool {
	return r.Of == b.Of && r.End.Offset == b.From
}

// Free frees all memory of r, because the lines of r are durable or another record replaces r.
func (l *Log) Free(r *Record) { frame.Punch(l.file, r.at, r.end()) }

// Rest frees the memory for compressing and reading records, some MiB. The next record
// allocates it again.
func (l *Log) Rest() {
	l.codec.Rest()
	l.lines, l.frame, l.head, l.runs = nil, nil, nil, nil
}

// Resting reports whether the log has no memory for compressing and reading records.
func (l *Log) Resting() bool {
	return l.codec.Resting() && l.lines == nil && l.frame == nil && l.head == nil && l.runs == nil
}
