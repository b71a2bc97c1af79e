package store

import (
	"hash/crc32"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
)

// sumFile sums up the newest segment of a stream while the segment grows. It keeps the sums of
// sealed segments in a file; see package index.
type sumFile struct {
	hintFile
	content index.Builder
	crc     uint32 // CRC-32C of the segment's bytes
	bytes   int64  // of the segment, if this process appended all of them as lines; otherwise -1
}

// leastSummed is the size of the smallest segment that gets an entry. A smaller segment is
// decoded in no time, and streams of small segments need no file of sums.
const leastSummed = 16 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// begin begins a new segment.
func (f *sumFile) begin() { f.content, f.crc, f.bytes = index.Builder{}, 0, 0 }

// partly records that the content of the segment is not fully known.
func (f *sumFile) partly() { f.bytes = -1 }

// append adds bytes that were appended at an offset to the sums.
func (f *sumFile) append(frame []byte, at int64) {
	if f.bytes != at {
		f.partly()
		return
	}
	f.crc = crc32.Update(f.crc, castagnoli, frame)
	f.bytes += int64(len(frame))
}

// seal adds the entry of a wholly durable segment if its content is known.
func (f *sumFile) seal(seg segment.Info) {
	if f.bytes < leastSummed || f.bytes != seg.Size {
		return
	}
	e := index.Entry{Seq: seg.Seq, Start: seg.Start.UnixMilli(), Segment: f.content.Segment(f.bytes, f.crc)}
	f.partly()
	data, ok := e.Append(nil)
	if !ok {
		return
	}
	if !f.loaded {
		f.resume(seg.Seq)
	}
	if f.size+index.EntryBytes > index.MaxBytes {
		f.thin()
	}
	_ = f.add(data)
}

// resume continues after the entries of an earlier process. Entries numbered next or higher
// belong to segments that a restart deleted, or to a deleted stream.
func (f *sumFile) resume(next uint64) {
	entries := index.Parse(f.load())
	for len(entries) > 0 && entries[len(entries)-1].Seq >= next {
		entries = entries[:len(entries)-1]
	}
	f.size = int64(len(entries)) * index.EntryBytes
}

// thin makes room for entries.
func (f *sumFile) thin() {
	segs, err := f.newest(index.MaxBytes / index.EntryBytes)
	if err != nil {
		return
	}
	exist := make([]uint64, 0, len(segs))
	for _, seg := range segs {
		exist = append(exist, seg.Seq)
	}
	data, _ := f.read()
	var kept []byte
	for _, e := range index.Thin(index.Parse(data[:min(int64(len(data)), f.size)]), exist) {
		kept, _ = e.Append(kept)
	}
	f.replace(kept)
}
