package index

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// Name is the name of the file in the directory of its stream. It begins with a dot, so that
// DEST/STREAM/* names only segments.
const Name = ".sums"

// EntryBytes is the length of an entry in the file.
const EntryBytes = 384

// MaxBytes bounds the file.
const MaxBytes = 1 << 20

// Entry is a segment and its sum.
type Entry struct {
	Seq   uint64 // number of the segment
	Start int64  // its creation time, Unix ms
	Segment
}

const (
	version = 1

	isRegular  = 1 << 0
	hasUptimes = 1 << 1

	atHead  = 280
	atCheck = EntryBytes - 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the entry in the form that it has in the file. If the format cannot express a time in
// the entry, Append appends nothing, and ok is false.
func (e *Entry) Append(b []byte) (_ []byte, ok bool) {
	w := fields{b: make([]byte, 0, EntryBytes), ok: true}
	w.uint(e.Seq)
	w.uint(uint64(e.Start))
	w.uint(uint64(e.Size))
	w.b = binary.LittleEndian.AppendUint32(w.b, e.CRC)
	flags, r := byte(0), Regular{}
	if e.Regular != nil {
		flags, r = isRegular, *e.Regular
		if r.Uptimes {
			flags |= hasUptimes
		}
	}
	w.b = append(w.b, version, flags)
	w.b = binary.LittleEndian.AppendUint16(w.b, uint16(len(r.Head)))
	w.uint(uint64(e.Raw))
	for _, n := range e.Lines {
		w.uint(n)
	}
	w.time(e.First)
	w.time(e.Last)
	for _, lines := range e.Gap.Lines {
		for _, n := range lines {
			w.uint(n)
		}
	}
	w.uint(e.Gap.Bytes)
	w.time(e.Gap.First)
	w.time(e.Gap.Last)
	for _, up := range []time.Duration{r.Begin, r.Low, r.High, r.Uptime} {
		w.uint(uint64(up))
	}
	w.time(r.End)
	w.time(r.First)
	w.time(r.Last)
	w.b = append(w.b, r.Head...)
	if !w.ok || len(w.b) > atCheck {
		return b, false
	}
	w.b = w.b[:atCheck] // the rest of the head is zero
	w.b = binary.LittleEndian.AppendUint32(w.b, crc32.Checksum(w.b, castagnoli))
	return append(b, w.b...), true
}

// Parse returns the entries before the first one that is damaged, incomplete or out of order.
func Parse(data []byte) []Entry {
	entries := make([]Entry, 0, len(data)/EntryBytes)
	for ; len(data) >= EntryBytes; data = data[EntryBytes:] {
		e, ok := parse(data[:EntryBytes])
		if n := len(entries); !ok || n > 0 && entries[n-1].Seq >= e.Seq {
			break
		}
		entries = append(entries, e)
	}
	return entries
}

func parse(b []byte) (e Entry, ok bool) {
	if binary.LittleEndian.Uint32(b[atCheck:]) != crc32.Checksum(b[:atCheck], castagnoli) || b[28] != version {
		return e, false
	}
	r := fields{b: b, ok: true}
	e.Seq, e.Start, e.Size = r.next(), int64(r.next()), r.count()
	e.CRC = binary.LittleEndian.Uint32(b[24:])
	head := int(binary.LittleEndian.Uint16(b[30:]))
	r.b = b[32:]
	e.Raw = r.count()
	for level := range e.Lines {
		e.Lines[level] = uint64(r.count())
	}
	e.First, e.Last = r.when(), r.when()
	for reason := range e.Gap.Lines {
		for level := range e.Gap.Lines[reason] {
			e.Gap.Lines[reason][level] = uint64(r.count())
		}
	}
	e.Gap.Bytes, e.Gap.First, e.Gap.Last = uint64(r.count()), r.when(), r.when()
	p := Regular{Uptimes: b[29]&hasUptimes != 0, Begin: r.uptime(), Low: r.uptime(), High: r.uptime(), Uptime: r.uptime(),
		End: r.when(), First: r.when(), Last: r.when()}
	if b[29]&isRegular != 0 {
		if head > headBytes {
			return e, false
		}
		p.Head, e.Regular = append([]byte(nil), b[atHead:atHead+head]...), &p
		r.ok = r.ok && p.sound() && e.Gap.Total() == 0
	}
	return e, r.ok && e.Seq > 0 && e.Size > 0 && e.lines() <= uint64(e.Raw)
}

// lines returns how many lines there are: at most Raw, because each line takes at least one
// byte.
func (s *Sum) lines() (all uint64) {
	for _, n := range s.Lines {
		all += n
	}
	return all
}

// sound reports whether r can describe a segment.
func (r *Regular) sound() bool {
	var record ul.Record
	record.Parse(r.Head)
	at, dated := record.When()
	up, has := record.Since()
	return record.Kind == ul.Header && record.Level != ul.Unknown && dated && at.Equal(r.End) && has == r.Uptimes && up == r.Uptime &&
		r.Low <= min(r.Begin, r.Uptime) && r.High >= max(r.Begin, r.Uptime) && !r.First.IsZero() && !r.First.After(r.End) && !r.Last.Before(r.End)
}

// fields are the numbers of an entry: those written so far, or those still to be read.
type fields struct {
	b  []byte
	ok bool // each number is in its range
}

func (f *fields) uint(n uint64) { f.b = binary.LittleEndian.AppendUint64(f.b, n) }

func (f *fields) time(at time.Time) {
	if at.IsZero() {
		f.uint(0)
		return
	}
	f.ok = f.ok && ul.Believed(at)
	f.uint(uint64(at.UnixNano()))
}

func (f *fields) next() uint64 {
	n := binary.LittleEndian.Uint64(f.b)
	f.b = f.b[8:]
	return n
}

// count returns a number of bytes or lines. A number so large that a stream's total could
// overflow is out of range.
func (f *fields) count() int64 {
	n := f.next()
	f.ok = f.ok && n < 1<<48
	return int64(n & math.MaxInt64)
}

func (f *fields) when() time.Time {
	n := int64(f.next())
	if n == 0 {
		return time.Time{}
	}
	at := time.Unix(0, n).UTC()
	f.ok = f.ok && ul.Believed(at)
	return at
}

func (f *fields) uptime() time.Duration {
	up := time.Duration(f.next())
	f.ok = f.ok && up >= 0 && up <= ul.MaxUptime
	return up
}
