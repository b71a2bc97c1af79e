// Package segment keeps the durable copy: a sequence of segments for each stream. A
// segment is a file that grows by whole frames, is sealed, and is deleted when it is
// old. The package appends, syncs, recovers, retains, reads and follows segments.
//
// # Parts
//
// A [Store] has four parts. Each of them uses only what its arrow points to:
//
//	retention → Stream → ledger, destination
//
// The destination is the directory, held open, with its lock and its key; it reaches
// all files. The ledger knows the sealed segments without a look at the disk. A [Stream]
// appends and commits, and reports to the ledger what it seals and deletes. Retention
// decides which segments to delete, and deletes them. A [Reader] and a [Follower] are in
// other processes and use none of these.
//
// # Layout
//
//	DEST/.ullage/lock                                    held by the one process that writes
//	DEST/.ullage/key                                     32 random bytes, see Store.Key
//	DEST/.ullage/checkpoint-number                       of the newest checkpoint, see Store.Number
//	DEST/STREAM/20261120T100000.000Z-000001.log.zst      a segment
//	DEST/STREAM/.seek                                    when lines were read, see package seek
//
// The name of a segment is the UTC time of its creation, a sequence number of
// at least six digits and the suffix of its compression: .log.zst, .log.gz or .log.
// The number alone orders the segments of a stream, because a clock can step back.
// Numbers may have gaps: a restart deletes segments that were never committed, and their
// numbers are not used again. See [Info.Follows]. Files have mode 0640 and directories 0750, less the umask.
// The package never touches other files in a stream's directory.
//
// # Format
//
// A segment is a concatenation of frames and nothing else, so the standard zstdcat
// and zcat read it, even while it grows. Each Append writes one frame of at most
// [FrameBytes] raw bytes:
//
//	.log.zst   one Zstandard frame with content size and checksum (RFC 8878, 3.1.1)
//	.log.gz    one gzip member (RFC 1952)
//	.log       the raw bytes, without any framing
//
// No frame refers to another frame, so any prefix of frames can be decoded, and
// so can the frames behind a damaged one. The header of a Zstandard frame and the
// three bytes before each of its blocks give its end without decoding.
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
// [Mark] says so or names a later segment.
//
// The reader reclaims nothing before "publish". So the source holds all bytes
// behind the checkpoint's mark, and the next start removes them from the segments
// and reads them again. If it kept them, their lines would be persisted twice. If
// the checkpoint were saved before Sync, a crash of the node could lose bytes that
// the checkpoint calls durable.
//
// What a kill or a crash leaves behind:
//
//	in or after Append   Bytes behind the mark, perhaps in a new segment. Resume removes them.
//	in Sync              The same; the directory entry of a new segment may be missing.
//	after Sync           Durable bytes behind the checkpoint's mark. Resume removes them.
//	before SetNumber     The number of the checkpoint before. Nothing was reclaimed since that one, so the
//	                     caller may use either.
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
// A checkpoint whose number is lower than [Store.Number] is an old one, and the caller
// resumes nothing at its marks: bytes behind them are committed, and no longer in the source.
// Each stream of the checkpoint is opened and resumed at its mark. A stream
// without a mark is recovered, and so is one whose mark Resume refuses with
// [ErrMark]. [Stream.Recover] returns the last bytes of the stream; the caller finds
// these bytes in the source and continues to read behind them. The caller saves the
// new mark in the next checkpoint. Maintain comes last, because it treats every
// segment of a stream that is not open as sealed, and may delete it.
//
// # Retention
//
// Retention bounds the blocks and inodes that segments, seek files and their directories use. It
// also keeps a reserve free on a volume that other programs fill, or that is smaller
// than RetainBytes. It deletes segments in the order of their last writes, on a clock
// that never steps, and within a stream in the order of their numbers. It removes a
// directory, and the seek file in it, only after it has deleted a segment in it.
//
// # Errors
//
// After a failed write or fsync, the pages that reached the disk are unknown, and
// a later fsync of the same descriptor may succeed although pages are lost. So an
// error of Append or Sync makes the stream unusable until [Stream.Abandon], and
// only [Stream.Resume] with the last mark makes it usable again, on a new
// descriptor.
//
// An error that wraps [ErrRefused] concerns one stream alone: its name belongs to
// something that is not a directory, its directory belongs to another user, or the
// file system does not allow its name. The store checks the destination itself
// first, and refuses a stream only if the destination works.
//
// The store holds the directory of the destination open and reaches everything
// through that descriptor. While the path names another directory, or nothing,
// Resume, Recover and the creation of a segment fail with [ErrAway], until
// [Store.Reopen] succeeds. Other processes may also move segments away and bring
// them back. A [Mark] that is Gone holds the number of the last committed segment,
// so Resume never truncates those that come back.
//
// # Following
//
// A [Follower] reads a stream while another process writes it:
//
//	OpenFollower → Next... → io.EOF → (wait) → Next... → Close
//
// Next never waits, and returns each raw byte once. [Follower.Position] is where to
// continue, in another process if need be: the segment, the offset in it, and the
// last bytes on disk before that offset. If the segment no longer has these bytes
// there, a restart of the writer has cut it, and it may have grown again, to any
// size. Then the Follower reads the segment from its beginning and skips as
// many raw bytes as it had read. A Position therefore also holds that number and
// how these bytes begin, for its segment and for the one before: between two
// commits, a writer creates one segment at most.
//
// The Follower assumes that the writer appends the same bytes again. If the writer
// dropped lines instead, the Follower skips as many bytes of what was appended. If
// segment 1 is deleted, either retention or a restart before any commit did it: the
// first bytes of the next segment decide. A caller that must not depend on either
// assumption reads committed bytes only.
//
// # Memory
//
// One encoder and one frame buffer serve all streams, and go while nothing is written.
// Memory does not grow with the volume: the ledger holds the names of the next segments
// to delete, and of no others. A reader holds one frame, and treats a frame over its bound
// as damage.
package segment
