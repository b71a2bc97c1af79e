// Package hindsight holds lines that are withheld from the destination, in case they are
// needed later. It is the writer's own log on the tmpfs.
//
// A sidecar with a persist level does not persist the lines below it. The writer counts these
// lines and appends them to this log, compressed. When a record is appended, the log forgets
// records that are older than the window, and then further ones until there is room for the new
// record. The age of a line is checked only when lines are appended. So the log holds the last
// lines before a pause, however long the pause lasts. When a trigger fires, the writer moves
// the records into a stream of the destination, along with the records of the next window.
//
// # The file
//
// The log is one file, SOURCE/.ullage/hindsight, that grows at its end and is punched at
// its beginning. A record, little endian:
//
//	 0  8  "ullhind1"
//	 8  4  CRC-32C of the head, byte 12 to its end, name included
//	12  4  CRC-32C of the frame
//	16  4  length of the frame
//	20  4  length of the lines
//	24  8  the earliest time at which the lines were written, Unix time in ns; it ignores
//	       steps of the system clock since the process began
//	32  8  when the last of them was read
//	40 24  lines that end in the record, by level (4 each)
//	64  2  length of the stream's name
//	66  2  zero
//	68  .  name of the stream, then one zstd frame with the lines
//
// # Crash windows
//
// The log has no state of its own: [State] is in the checkpoint, with the positions of the
// source and the marks of the segments. Uncommitted records are past State.End: a restart
// cuts them off and reads their lines from the source again. A saved record is freed once
// the checkpoint has both the mark after the record's lines and a State.Head after the
// record. So no line is held twice or saved twice, whenever the process is killed.
//
// Only committed records are saved: the lines of other records may have to be read again.
//
// # Untrusted input
//
// The application can write to the file as well as to its logs. Each record is checked before
// it is used. The first damaged record ends the log: the lines after it were counted as
// withheld, and remain so.
//
// A line that is longer than one read is held in pieces. If only its end is left in the
// log, only its end is saved.
package hindsight
