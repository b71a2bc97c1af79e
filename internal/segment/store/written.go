package store

import "hash/crc32"

// Written is what a Stream has appended to its newest segment.
type Written struct {
	Segment string // its name; empty: there is none
	Size    int64  // of the segment, in bytes on disk
	CRC     uint32 // CRC-32C of these bytes, if Whole
	Whole   bool   // this Stream has appended all of them
}

// Written returns what the newest segment is, sealed or not. It is valid until the next
// Append. After Abandon, only a segment that is created later can be whole.
func (t *Stream) Written() Written {
	return Written{Segment: t.seg.Name, Size: t.seg.Size, CRC: t.sum.crc, Whole: t.seg.Size > 0 && t.sum.bytes == t.seg.Size}
}

// checksum is that of the bytes that were appended to a segment from its beginning on.
type checksum struct {
	crc   uint32
	bytes int64 // -1: they were not
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// add takes bytes that were appended at an offset.
func (c *checksum) add(frame []byte, at int64) {
	if c.bytes != at {
		c.bytes = -1
		return
	}
	c.crc = crc32.Update(c.crc, castagnoli, frame)
	c.bytes += int64(len(frame))
}
