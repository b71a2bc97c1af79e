// Package ship ties the source to the destination: it is the life of a line.
//
// A [Shipper] runs two loops. The reader owns the source directory: it reads
// what JVMs write into the queue, waits when the queue is full, gives back the
// memory of what is committed, and under pressure drops lines. The writer owns the destination, and is the
// only one that may ever wait for a disk: it appends batches to segments and
// commits them.
//
// # Commit
//
// The order is append, sync, checkpoint, reclaim, never another:
//
//	append      a crash leaves uncommitted bytes behind the checkpoint's mark
//	sync        ... and so does this one: the restart cuts them off, and reads
//	            them again from the source, where they still are
//	checkpoint  position and mark are one atomic step forward
//	reclaim     only now is the source's memory given back
//
// # Pressure
//
// While the queue is full the reader looks at the source. If that fills up
// because the destination takes nothing, or less than comes, it goes ahead of
// the writer: past the first mark lines below a level are dropped, past the
// second all of them, the oldest first; and only of streams that take more than
// their share of the budget. Here the order is
//
//	drop      decide, in memory; a crash finds lines that are still there
//	record    the gaps are in the checkpoint
//	punch     only now is their memory given back
//
// and a marker is handed on in the place of each gap, and committed with the
// position behind it.
//
// # The checkpoint
//
// It is worth as much as the source it points into, so it lives beside it, on
// the tmpfs: two slots, written in turn, in place and into memory reserved
// before, so that a full tmpfs cannot keep a checkpoint from being saved. The
// application can write there too. A slot therefore carries an HMAC-SHA-256,
// whose key lies at the destination. Without a valid slot, each stream's
// segments decide: the sound part is kept, and its end is looked up in the
// source files.
//
// An empty file beside the slots says that there was a checkpoint once. Only the
// checkpoint creates it, after the first slot and before the first append, so
// nothing of a source without this file can be persisted already.
//
// Before the writer appends the first line of a file, the checkpoint says to which
// stream the file belongs. A restart may find the file under the name of another
// stream, and still has to cut its uncommitted lines off the first one.
//
// A start does not wait for the destination. While that has not told the key,
// reading begins with what a slot claims; gaps are recorded in slots of their
// own; and once the key is there, the marks of the slot count if it is
// authentic, and else reading begins anew. A forged claim can only hurt the
// forger's own log, which it could delete as well.
//
// # Errors of the destination
//
// There is one answer to all of them, and it is what a restart does: forget
// what is not committed, wait, cut the segments to the marks of the last
// commit with fresh descriptors, and read again from its positions. A
// descriptor that failed is never used again, since after a failed fsync the
// kernel may call pages clean that never reached the disk.
//
// An error of one stream alone, [segment.ErrRefused], stops no other. The writer
// passes over the stream and tries it again from time to time; the reader leaves
// it unread, and drops lines of it under pressure as if it had an outage of its
// own. It comes back as after an error of the destination, with a rewind.
package ship
