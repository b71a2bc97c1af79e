package seek

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
)

// Name is the name of the seek file in the directory of its stream. It begins with a dot,
// so that DEST/STREAM/* names only segments.
const Name = ".seek"

// EntryBytes is the length of an entry in the file.
const EntryBytes = 40

// MaxBytes bounds the file.
const MaxBytes = 1 << 20

// Entry is a place in a stream and a time.
type Entry struct {
	Seq    uint64 // number of the segment
	Start  int64  // creation time of the segment, Unix ms
	Offset int64  // in the segment, bytes on disk
	Time   int64  // all lines before this place were written by then; Unix ms
	Up     uint32 // ms since boot, modulo 2^32, when the last line before this place was read
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the entry in the form that it has in the file.
func (e Entry) Append(b []byte) []byte {
	n := len(b)
	b = binary.LittleEndian.AppendUint64(b, e.Seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Start))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	b = binary.LittleEndian.AppendUint32(b, e.Up)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[n:], castagnoli))
}

// Parse returns the entries before the first one that is damaged, incomplete or out of
// order. What follows that entry cannot be used: the time of an entry covers the lines
// since the entry before it.
func Parse(data []byte) []Entry {
	entries := make([]Entry, 0, len(data)/EntryBytes)
	for ; len(data) >= EntryBytes; data = data[EntryBytes:] {
		e, ok := parse(data[:EntryBytes])
		if n := len(entries); !ok || n > 0 && compare(entries[n-1], e) >= 0 {
			break
		}
		entries = append(entries, e)
	}
	return entries
}

func parse(b []byte) (e Entry, ok bool) {
	e = Entry{
		Seq:    binary.LittleEndian.Uint64(b),
		Start:  int64(binary.LittleEndian.Uint64(b[8:])),
		Offset: int64(binary.LittleEndian.Uint64(b[16:])),
		Time:   int64(binary.LittleEndian.Uint64(b[24:])),
		Up:     binary.LittleEndian.Uint32(b[32:]),
	}
	ok = binary.LittleEndian.Uint32(b[36:]) == crc32.Checksum(b[:36], castagnoli)
	return e, ok && e.Seq > 0 && e.Offset > 0
}

// compare orders places.
func compare(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Offset, b.Offset))
}
