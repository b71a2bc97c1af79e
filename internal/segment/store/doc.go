// Package store writes the durable copy: it appends, syncs, recovers and retains the
// segments that package segment reads. A [Store] is the only writer of its destination.
//
// # Parts
//
// A [Store] has four parts. Each of them uses only the parts to which its arrow points:
//
//	retention → Stream → ledger, destination
//
// The destination is the directory, held open, with its lock and its key; all files are reached through
// it. The ledger knows the sealed segments without looking at the disk. A [Stream] appends and commits,
// and reports to the ledger what it seals and deletes. Retention decides which segments to delete and
// deletes them.
//
// # Files
//
// Each Append writes one frame. Files have mode 0640 and directories 0750, less the umask.
// The package never touches other files in a stream's directory.
//
// # Commit
//
// One goroutine, the writer, owns a [Store] and all its streams. It works in
// this order:
//
//	Append... → Sync → save the Mark in the checkpoint → SetNumber → publish → Maintain
//
// [Stream.Sync] first makes the bytes durable, then the directory entries of new
// files. The writer creates a segment only after it has synced the whole previous
// segment; otherwise a crash could leave a hole between two segments that both
// look sound. A segment is sealed, and never changes again, once a committed
// [segment.Mark] says so or names a later segment.
//
// The reader reclaims nothing before "publish". So the source holds all bytes past the checkpoint's mark,
// and the next start removes them from the segments and reads them again. If it kept them, their lines
// would be persisted twice. If the checkpoint were saved before Sync, a crash of the node could lose
// bytes that are durable according to the checkpoint.
//
// What a kill or a crash leaves behind:
//
//	in or after Append   Bytes past the mark, perhaps in a new segment. Resume removes them.
//	in Sync              The same; the directory entry of a new segment may be missing.
//	after Sync           Durable bytes past the checkpoint's mark. Resume removes them.
//	before SetNumber     The number of the previous checkpoint. Nothing was reclaimed since that
//	                     checkpoint, so the caller may use either checkpoint.
//	in Resume            Resume deletes the newer segments, the newest first, and truncates last. So the
//	                     segments always hold a prefix of what was appended, and Resume can run again.
//	in Recover           The same as in Resume.
//	in Maintain          Maintain deletes whole segments, the oldest first. Before it deletes the newest
//	                     segment of a stream, it saves the stream's mark as Gone. Resume accepts such a
//	                     mark whether the segment is there or not.
//	crash of the node    The tmpfs is empty, so there is no checkpoint. Pages of the unsynced tail can hold
//	                     zeros, holes or half a frame. Recover keeps the sound frames before the first
//	                     damaged byte.
//
// # Start
//
// A checkpoint whose number is lower than [Store.Number] is old. The caller must not resume at its marks,
// because bytes past them are committed and no longer in the source. Otherwise, each stream of the
// checkpoint is opened and resumed at its mark. A stream without a mark is recovered, and so is one whose
// mark Resume refuses with [ErrMark]. [Stream.Recover] returns the last bytes of the stream; the caller
// finds these bytes in the source and continues to read after them. The caller saves the new mark in the
// next checkpoint. Maintain comes last, because it treats every segment of a stream that is not open as
// sealed, and may delete it.
//
// # Retention
//
// Retention bounds the blocks and inodes that segments, hint files and their directories use. It also
// keeps a reserve free on a volume that other programs fill or that is smaller than RetainBytes. It
// deletes segments in the order of their last writes, measured by a clock that never steps, and within a
// stream in the order of their numbers. It removes a directory, and the hint files in it, only after it
// has deleted a segment in it.
//
// # Errors
//
// After a failed write or fsync, it is unknown which pages have reached the disk, and a later fsync of
// the same descriptor may succeed although pages are lost. So an error of Append or Sync makes the stream
// unusable until [Stream.Abandon], and only [Stream.Resume] with the last mark makes it usable again, on
// a new descriptor.
//
// An error that wraps [ErrRefused] concerns only one stream: something that is not a directory has its
// name, its directory belongs to another user, or the file system does not allow its name. The store
// first checks the destination itself. It refuses a stream only if the destination works.
//
// The store holds the directory of the destination open and reaches everything through that descriptor.
// While the path leads to another directory, or does not exist, Resume, Recover and the creation of a
// segment fail with [ErrAway], until [Store.Reopen] succeeds. Other processes may also move segments away
// and bring them back. A [segment.Mark] that is Gone holds the number of the last committed segment, so
// Resume never truncates segments that come back.
//
// # Memory
//
// One encoder and one frame buffer serve all streams, and are freed while nothing is
// written. Memory does not grow with the volume: the ledger holds only the names of the
// next segments to delete.
package store
