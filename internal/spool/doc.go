// Package spool is the reader's own log on the tmpfs, where the backlog goes
// when the destination does not take it.
//
// Under pressure the reader takes a block of lines out of a source file,
// appends it here, compressed, as one record, and only then punches the block.
// Unified Logging compresses some 17 to 1, so the same memory holds that much
// more. If even that is not enough, the records lose their lines, the oldest
// first: at first those below the level that is kept, then all. What is left of
// a record says how many lines of which levels are missing, and where.
//
// # A record
//
// A record begins on a page, and so does each of its parts, so that each can be
// given back alone:
//
//	head    header, name of the stream, runs
//	kept    the lines that stay under pressure, one zstd frame
//	rest    the other lines, one zstd frame
//
// The header, little endian:
//
//	  0  8  "ullspool"
//	  8  4  CRC-32C of the head from byte 16 on
//	 12  2  what became of the parts kept and rest, one byte each: 0 stored,
//	        1 discarded, 2 dropped. They are not in the CRC
//	 14  2  zero
//	 16  8  sequence number
//	 24 28  source file: device, inode, birth (8 each), epoch (4)
//	 52  4  length of the head
//	 56  8  first byte of the block in the source file
//	 64  8  end of the block; 72 its check (4); 76 check length, 77 open,
//	        78 level, 79 length of the stream's name (1 each)
//	 80 16  when the first and the last line were read, Unix time in ns
//	 96 96  lines that were dropped before, by reason and level (8 each)
//	192  8  ... and their bytes
//	200 36  part kept: lines by level (4 each), raw bytes, stored bytes, CRC-32C
//	236 36  part rest: the same
//	272  4  number of runs
//	276  .  name of the stream, then the runs
//
// The runs say how the lines of the two parts lie beside each other. Each is a
// stretch of rest and the stretch of kept behind it: bytes of rest (varint), one
// byte with a bit for each level that has lines, the number of lines of each such
// level (varints), bytes of kept (varint). A stretch of rest before a kept line
// has [MinRest] bytes at least, or it would be kept as well: so the markers
// that may take its place are never longer than the block was.
//
// Records side by side of which only kept lines and counts are left are merged,
// so that the lines that stay in a long stall share pages. The rest of a merged
// record stands for more than a block, and what is handed on for it for less. A
// stretch in it may be shorter; the markers of all its stretches are bounded
// together.
//
// # Crash windows
//
// Append writes the parts first and the header last. A kill in between leaves
// pages without a header, which the next Open gives back; the block is still in
// the source file then, because it is punched after Append has returned.
//
// Drop changes one byte, then punches the part. One byte cannot tear.
//
// Merge appends a record for two others, then gives those back. If a kill comes
// in between, Open finds all three: of records that overlap, the one with the
// highest sequence number counts.
//
// # Untrusted input
//
// The application can write to this file as it can to its logs. Sizes, counts
// and lengths are held to their bounds before memory is taken for them, and
// what does not fit is left out and given back. A forged record changes what is
// persisted of the forger's own log, which the forger could have written there.
//
// A [Log] starts no goroutine and is not safe for concurrent use.
package spool
