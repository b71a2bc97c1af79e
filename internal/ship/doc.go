// Package ship ties the source to the destination: it is the life of a line.
//
// A [Shipper] runs two loops. The reader owns the source directory and the spool
// in it: it reads what JVMs write into the queue, waits when the queue is full,
// frees the memory of what is committed, and under pressure moves or drops lines.
// The writer owns the destination and the checkpoint and is the only one that may
// ever wait for a disk: it appends batches to segments and commits them.
//
// # Commit
//
// The order is append, sync, checkpoint, number, reclaim, never another:
//
//	append      a crash leaves uncommitted bytes past the checkpoint's mark
//	sync        ... and so does this one: the restart cuts them off and reads
//	            them again from the source, where they still are
//	checkpoint  position and mark are one atomic step forward
//	number      the destination knows which checkpoint is the newest: none from before
//	            is ever used again, whichever process puts it back
//	reclaim     only now is the source's memory freed
//
// # Pressure
//
// While the queue is full, the reader looks at the source. If the source fills up
// because the destination takes nothing, or less than comes, the reader goes ahead
// of the writer. Past the first mark it moves the oldest lines into the spool, and
// loses none. Past the second mark it also drops moved lines below a level, past
// the third one all lines, the oldest first; and only of streams that take more
// than their share of the budget. The order is the reader's twin of the commit's:
//
//	append   one record, in the spool; a kill finds the lines in both places
//	punch    only now is their memory in the file freed
//
// # A start
//
// There is one way to start. Reading begins at the positions that the checkpoint
// claims; the writer then confirms them, or makes the reader begin again. So a
// start does not wait for the destination, which has the key of the checkpoint and
// its number. Until then nothing is reclaimed, and no drain ends while the source has
// lines that only the checkpoint claims to be durable. See package checkpoint.
//
// # Errors of the destination
//
// The answer to all of them is what a restart does: forget what is not
// committed, wait, cut the segments to the marks of the last commit with fresh
// descriptors, and read again from its positions. A descriptor that failed is
// never used again, since after a failed fsync the kernel may call pages clean
// that never reached the disk.
//
// An error of one stream alone, [store.ErrRefused], stops no other stream. The
// writer skips the stream and retries it from time to time; the reader leaves it
// unread, and under pressure drops its lines first, as for an outage of this
// stream. It comes back as after an error of the destination, with a rewind.
package ship
