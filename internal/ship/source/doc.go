// Package source is the table of source files: what is known of the files that JVMs write,
// without reading them.
//
// A [File] is one content of a file, and the [Table] is the only owner of which of them
// there are. The table knows which content is in which open file, how far each one was read
// and is durable, what of it was moved into the spool, which [Stream] it belongs to and in
// which order the files of a stream are read, and which positions wait for files that are
// not held. It tells the checkpoint what to keep, and what not.
//
// Package tail alone uses it. Its parts scan, read, relieve and reclaim, and each of them
// changes the fields that are its own:
//
//	scanning    Entry, Rank, and of a Stream the Archives
//	reading     Read, Queued, Counted, and of a Stream its Class and the Credit of its turn
//	relief      Records, Stuck, and of a Stream the Memory
//	reclaiming  what of the Inode is punched
//	watching    Growth
//	the table   Of, Stream, Committed, Held, the places of Files and what waits
//
// The table logs nothing, counts nothing, and opens and lists nothing. It asks the kernel
// about the files that it was given: their size, holes and writers, and the few bytes
// before a position, which show whether the file still holds what was read. It closes a
// file that it forgets. It is not safe for concurrent use.
package source
