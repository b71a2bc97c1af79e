// Package index is the format of a stream's file of sums. The file says what each sealed
// segment of the stream holds, so that a question can be answered without decoding the segment.
//
//	writer: Builder.Frame, Builder.Count → Builder.Segment → Entry.Append
//	reader: Read → Index.Of
//
// # Format
//
// The file is DEST/STREAM/.sums, a sequence of entries of [EntryBytes] bytes, in the order
// of the stream. All numbers are little-endian, and times are Unix nanoseconds, 0 for none:
//
//	  0    8  sequence number of a segment
//	  8    8  creation time of that segment as in its name, Unix milliseconds
//	 16    8  size of the segment, bytes on disk
//	 24    4  CRC-32C of the segment's bytes
//	 28    1  version, 1
//	 29    1  flags: 1 if the segment is regular, see [Regular]; plus 2 if its records have uptimes
//	 30    2  length of the head
//	 32    8  raw bytes
//	 40   48  lines by level, unknown first
//	 88   16  times of the first and the last dated line, see [Sum]
//	104   96  lines that markers stand for, by reason and level
//	200    8  bytes of these lines
//	208   16  when the first and the last of these lines were dropped
//	224   32  the first, lowest, highest and last uptime, nanoseconds
//	256    8  time of the last record
//	264   16  times of the earliest and the latest record
//	280  100  head: the beginning of the last record
//	380    4  CRC-32C of the 380 bytes before
//
// # A hint
//
// Nothing depends on the file. When the writer seals a segment all of whose bytes it has
// appended itself, it appends an entry. It never syncs the file. A reader uses an entry if
//
//   - the segment has the number, the creation time, the size and the CRC-32C that are in the
//     entry: then the writer has written exactly these bytes, so they decode;
//   - according to owners and modes, each user who may write the file of sums may also write
//     the segment.
//
// A segment without such an entry is decoded. So the file is as trustworthy as the segments: on
// a volume to which several users write, a user who may not change a segment cannot change what
// the file says about the segment.
//
// # Crash windows
//
//   - After the seal, before the checkpoint: a restart may cut the segment and append to it
//     again. Its size then differs from that in the entry. The process that has restarted did
//     not append all of the segment, so it adds no entry.
//   - After the seal of a segment that the restart deletes: a later segment with the same
//     number has another creation time, and its entry takes precedence over the stale one.
//   - A power failure may leave any part of the file, because it is not synced: entries up to
//     the first bad checksum are used, and the writer continues after them.
//   - When the file is thinned (see Size), it is overwritten from its beginning. Until its end is
//     cut off, old entries follow the new ones. Their numbers are not higher, so they are out of
//     order and not used.
//
// # Size
//
// The file has at most 1 MiB, which is enough for 2730 segments. At this bound, it loses the
// entries of deleted segments and the oldest third of the others. A reader reads no more than
// the bound.
package index
