// Package ship connects the source to the destination: it handles the whole life of a line.
//
// A [Shipper] runs two loops. The reader owns the source directory and the spool in it: it
// reads the lines of JVMs into the queue, waits when the queue is full, frees the memory of
// committed lines, and moves or drops lines under pressure. The writer owns the destination
// and the checkpoint. It appends batches to segments and commits them. Nothing but the
// writer ever waits for a disk.
//
//   - tail: the reader's side: finds, holds and reads source files, and frees their memory
//   - source: the table of source files, without any I/O on their content
//   - ring: takes the events of applications out of their rings, as lines that tail reads
//   - position: a place in a source file
//   - queue: the bounded memory between the two loops
//   - spool: the reader's log of the lines that it moved out of the way
//   - hindsight: the writer's log of the lines that are withheld
//   - frame: the common part of these two logs
//   - checkpoint: how far each source file is durable
//
// # Commit
//
// The order is append, sync, checkpoint, number, reclaim, never another:
//
//	append      a crash leaves uncommitted bytes past the checkpoint's mark
//	sync        a crash leaves such bytes here, too: the restart cuts them off and
//	            reads them again from the source, where they still are
//	checkpoint  positions and marks move forward in one atomic step
//	number      the destination knows which checkpoint is the newest: no earlier one
//	            is ever used again, whichever process puts it back
//	reclaim     only now is the source's memory freed
//
// # Pressure
//
// While the queue is full, the reader checks the source. If the source fills up because the
// destination accepts nothing, or less than arrives, the reader goes ahead of the writer. Above
// the first mark, it moves the oldest lines into the spool and loses none. Above the second
// mark, it also drops moved lines below a level. Above the third mark, it drops lines below that
// level first, and lines of all levels only if no more lines can be compressed in time. Only
// streams that take more than their share of the budget lose lines, the oldest first. The reader's
// order corresponds to that of a commit:
//
//	append   one record, in the spool; a kill leaves the lines in both places
//	punch    only now is their memory in the file freed
//
// # A start
//
// There is only one way to start. Reading begins at the positions that the checkpoint
// claims. The writer then confirms the positions, or makes the reader begin again. So a
// start does not wait for the destination, which stores the key that authenticates the
// checkpoint, and the number of the newest one. Before the positions are confirmed, nothing
// is reclaimed, and no drain ends while the source has lines that only the checkpoint claims
// to be durable. See package checkpoint.
//
// # Errors of the destination
//
// The answer to all of them is the same as that of a restart: forget everything uncommitted,
// wait, cut the segments to the marks of the last commit with fresh descriptors, and read again
// from the positions of that commit. A descriptor that failed is never used again: after a
// failed fsync, the kernel may mark pages as clean although they never reached the disk.
//
// An error of only one stream, [store.ErrRefused], does not stop any other stream. The
// writer skips the stream and retries it from time to time. The reader leaves the stream
// unread, and under pressure it drops the stream's lines first, as if the destination had failed
// for this stream alone. The stream recovers as after an error of the destination: the reader
// rewinds to the last commit.
package ship
