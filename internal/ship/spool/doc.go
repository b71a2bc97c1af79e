// Package spool is the reader's own log on the tmpfs. It holds the backlog while
// the destination does not accept it.
//
// Under pressure, the reader takes a block of lines from a source file, appends the block to
// this log as one compressed record, and only then punches the block out of the source file.
// Unified Logging compresses well, so the same memory holds many times as much. If that is not
// enough, the oldest records lose their lines: first the lines below the level to keep, then
// all lines. Such a record still counts the missing lines by level and shows where they were.
//
// # A record
//
// Each part of a record begins on a page of its own, so that its memory can be
// freed alone:
//
//	head    header, name of the stream, runs
//	kept    the lines at or above the level that is kept, one zstd frame
//	rest    the other lines, one zstd frame
//
// The header, little endian:
//
//	  0  8  "ullspool"
//	  8  4  CRC-32C of the head after the first 16 bytes
//	 12  2  state of the parts kept and rest, one byte each: 0 stored,
//	        1 discarded, 2 dropped. The CRC does not cover them
//	 14  2  zero
//	 16  8  sequence number
//	 24 28  source file: device, inode, birth (8 each), epoch (4)
//	 52  4  length of the head
//	 56  8  first byte of the block in the source file
//	 64  8  end of the block in the source file
//	 72  4  CRC-32C of the last bytes before that end
//	 76  1  how many bytes that CRC covers
//	 77  1  1 if the block ends inside a line, otherwise 0
//	 78  1  level that a continuation after the block inherits
//	 79  1  length of the stream's name
//	 80 16  when the first and the last line were read, Unix time in ns
//	 96 96  lines missing once the part kept is gone, by reason and level (8 each)
//	192  8  ... and their bytes; if all of these are zero, the counts of the part apply
//	200 36  part kept: lines by level (4 each), raw bytes, stored bytes, CRC-32C
//	236 36  part rest: the same
//	272  4  number of runs
//	276  .  name of the stream, then the runs
//
// The runs describe how the lines of the two parts interleave. Each run is a
// stretch of rest and the kept stretch after it: bytes of rest (varint), one byte
// with a bit for each level that has lines, the number of lines of each such level
// (varints), bytes of kept (varint). A stretch of rest before a kept line has at
// least [MinRest] bytes; a shorter one is kept too. So the markers that replace
// the rest are never longer than the block was.
//
// A stream that the sidecar itself writes has markers among its lines, for events that a ring
// refused. A marker is always a kept line. Once the kept lines of a record are dropped too, the
// record counts the gaps of its markers in their place, so that the numbers are exact.
//
// Adjacent records that hold only kept lines and counts are merged, so that the
// lines kept during a long stall share pages. A merged record covers more than one
// block of the source file, but it yields only its kept lines, 64 KiB at most, and
// markers. A stretch of rest in it may be shorter than MinRest; the total length of
// its markers is bounded instead.
//
// # Crash windows
//
// Append writes the parts first and the header last. A kill in between leaves
// pages without a header, and the next Open frees them. The block is then still in
// the source file, because the reader punches it only after Append has returned.
//
// Drop changes one byte, then punches the part. One byte cannot tear.
//
// Merge appends one record that replaces two, then frees the two. After a kill in
// between, Open finds all three. Of overlapping records, the one with the highest
// sequence number is used.
//
// # Untrusted input
//
// The application can write to this file as well as to its logs. Open checks sizes, counts and
// lengths against their bounds before it allocates memory for them, and frees what is out of
// bounds. A forged record changes only the forger's own log, and the forger could have written
// the same lines there directly. A frame goes to the destination unchanged only if this process
// has written it. Any other frame is decompressed first: see package frame.
//
// A [Log] starts no goroutine and is not safe for concurrent use.
package spool
