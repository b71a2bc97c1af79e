// Package source is the table of source files: the state of the files that JVMs write,
// without reading them.
//
// A [File] is one content of a file, and only the [Table] adds and removes contents. The
// table knows which content is in which open file, how far each one was read and is
// durable, which parts were moved into the spool, which [Stream] it belongs to and in which
// order the files of a stream are read, and which positions wait for files that are not
// held. It decides which positions the checkpoint keeps.
//
// Package tail alone uses it. Its parts scan, read, relieve and reclaim, and each of them
// changes the fields that are its own:
//
//	scanning    Entry, Rank, and of a Stream the Archives
//	reading     Read, Queued, Counted, and of a Stream its Class and the Credit of its turn
//	relief      Records, Stuck, and of a Stream the Memory
//	reclaiming  the punched part of the Inode
//	watching    Growth
//	the table   Of, Stream, Committed, Held, the places of Files and the waiting positions
//
// The table logs nothing, counts nothing, and opens and lists nothing. It asks the kernel
// about the files that it was given: their size, holes and writers, and the few bytes
// before a position, which show whether the file still holds what was read. It closes a
// file that it forgets. It is not safe for concurrent use.
package source
