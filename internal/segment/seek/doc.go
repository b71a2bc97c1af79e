// Package seek is the format of the seek file of a stream: places in the stream's segments, each with a
// time by which all lines before it were written. A reader that wants the lines of one minute begins at
// such a place instead of at the beginning of a segment. These times also date lines that have no date.
//
//	writer: Parse → Recorder.Resume → Recorder.See → Entry.Append, Thin
//	reader: Read → Index.Before, Index.Next, Index.Last
//
// # Format
//
// The file is DEST/STREAM/.seek, a sequence of entries of 40 bytes, in the order of the
// stream. All numbers are little-endian:
//
//	 0  8  sequence number of a segment
//	 8  8  creation time of that segment as in its name, Unix milliseconds
//	16  8  offset in the segment, bytes on disk: a frame ends here
//	24  8  time by which all lines before this place were written, Unix milliseconds
//	32  4  milliseconds since the node's boot, modulo 2^32, when the last line before this place was read
//	36  4  CRC-32C of the 36 bytes before
//
// # A hint
//
// Nothing depends on the file. The writer appends an entry after the commit whose end the entry names,
// and never syncs the file. A reader uses the entries before the first one that is damaged or out of
// order if their segment exists and has a frame at the offset. If there is no such entry, it reads as
// if there were no file.
//
// # Size
//
// A stream gets at most one entry per 10 s, or per 1 MiB on disk if it grows faster. In
// addition, the last commit before a silence of 5 s or longer gets an entry. The bound of the
// file is a thousandth of the stream's bytes on disk, but at least 4 KiB and at most 1 MiB. A
// file that reaches its bound is thinned: in the older part, only entries at equal distances are
// kept, and the entries of deleted segments are removed.
//
// # Clocks
//
// A line is written before it is read, so the time of reading is an upper bound, unless the clock is
// set back in between. The writer compares the system clock with the clock that counts from boot and,
// after a restart, with both clocks of the last entry. If the system clock was set back, the entry has
// the time that the clock would show otherwise. Steps of less than 5 s may be missed; [Slack] covers
// them.
package seek
