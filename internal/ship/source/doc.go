// Package source is the table of source files: the state of the files that JVMs write,
// without reading them.
//
// A [File] is one content of a file, and only the [Table] adds and removes contents. The
// table knows which content is in which open file, how far each content was read and is
// durable, and which parts of it were moved into the spool. It knows which [Stream] a
// content belongs to, and in which order the files of a stream are read. It also knows
// which positions wait for files that are not held, and it decides which positions the
// checkpoint keeps.
//
// Only package tail uses it. The parts of tail scan, read, relieve and reclaim. Each of
// them changes its own fields:
//
//	scanning    Entry, Rank, and of a Stream the Archives
//	reading     Read, Queued, Counted, and of a Stream its Class and the Credit of its turn
//	relief      Records, Stuck, and of a Stream the Memory
//	reclaiming  the punched part of the Inode
//	watching    Growth
//	the table   Of, Stream, Committed, Held, the places of Files and the waiting positions
//
// The table does not log, does not count in metrics, and does not open or list anything. It
// asks the kernel about the files that it was given: their size, holes and writers, and the
// few bytes before a position, which show whether the file still holds the data that was
// read. It closes a file that it forgets. It is not safe for concurrent use.
package source
