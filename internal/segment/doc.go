// Package segment keeps the durable copy: per stream a sequence of segments,
// files that grow by whole frames, are sealed, and are deleted when they are
// old. It appends, syncs, recovers, retains, reads and follows them.
//
// # Layout
//
//	DEST/.ullage/lock                                    held by the one process that writes
//	DEST/.ullage/key                                     32 random bytes, see Store.Key
//	DEST/STREAM/20261120T100000.000Z-000001.log.zst      a segment
//
// The name of a segment is the UTC time of its creation, a sequence number of
// at least six digits and the suffix of its compression: .log.zst, .log.gz or
// .log. The number alone orders the segments of a stream; clocks step back.
// Numbers may have gaps. Files have mode 0640 and directories 0750, less the
// umask; other files in a stream's directory are left alone.
//
// # Format
//
// A segment is a concatenation of frames and nothing else, so the standard
// zstdcat and zcat read it, the one that is growing as well. Each Append
// makes one frame of at most [FrameBytes] raw bytes:
//
//	.log.zst   one Zstandard frame with content size and checksum (RFC 8878, 3.1.1)
//	.log.gz    one gzip member (RFC 1952)
//	.log       the raw bytes, without any framing
//
// No frame refers to another one, so that any prefix of frames, and anything
// behind damage, can be decoded. Where a Zstandard frame ends is found without
// decoding it, by its header and by the three bytes before each block.
//
// # Commit
//
// One goroutine owns a [Store] and all its streams:
//
//	Append... → Sync → save the Mark in the checkpoint → publish → Maintain
//
// [Stream.Sync] makes the bytes durable, then the directory entries of what
// was created. A segment is created only when all of the one before is
// synced. It is sealed, and never changes again, once a committed [Mark] says
// so or names a later segment.
//
// What a kill or a crash leaves behind:
//
//	in or after Append   bytes behind the mark, perhaps in a new segment. Resume removes them.
//	in Sync              as before; the new segment's entry may or may not be there.
//	after Sync           bytes behind the checkpoint's mark. Resume removes them: the source still has them.
//	in Resume            newer segments go first, the newest one before the others, and the cut comes
//	                     last, so at any moment a prefix of what was appended is there. Resume again.
//	in Recover           as in Resume.
//	in Maintain          whole segments are gone, the oldest first. The mark of a stream whose newest one
//	                     goes was saved before, as Gone: Resume takes it with the segment and without.
//	crash of the node    no checkpoint, and pages of the unsynced tail in any state: zeros, holes, half a
//	                     frame. Recover keeps the sound frames before the first unsound byte.
//
// # Start
//
// Each stream of the checkpoint is opened and resumed at its mark. A stream
// without a mark, or with one that is refused with [ErrMark], is recovered:
// the tail that [Stream.Recover] returns tells where in the source to go on,
// and its mark belongs into the next checkpoint. Maintain comes after all of
// them, because a stream that is not open has only sealed segments.
//
// # Retention
//
// What segments take of the file system is bounded, in whole blocks, directories
// and inodes, and so is what they take of a volume that others fill, or that is
// smaller than RetainBytes. The order is that of the last writes, on a clock that
// never steps; within a stream it is that of the numbers. A directory is removed
// only behind a segment that was deleted in it.
//
// # Errors
//
// After a failed write or fsync nobody knows which pages reached the disk,
// and a later fsync of the same descriptor may say that all is well. So an
// error of Append or Sync spoils the stream until [Stream.Abandon], and only
// [Stream.Resume] with the last mark brings it back, on a new descriptor.
//
// An error that wraps [ErrRefused] is of one stream alone: what has its name is
// not a directory, or not ours, or the file system has no such name. The
// destination is looked at before a stream is blamed.
//
// The directory of the destination is held open, and everything is reached by
// way of it. While its path names another one, or nothing, Resume, Recover and a
// new segment fail with [ErrAway], and [Store.Reopen] says when to go on. Others
// may also take segments away and bring them back: a [Mark] that is Gone tells
// up to which number they were committed, so that they are never cut.
//
// # Following
//
// A [Follower] reads a stream while another process writes it:
//
//	OpenFollower → Next... → io.EOF → (wait) → Next... → Close
//
// Next never waits, and hands out each raw byte once. [Follower.Position] is where
// to go on, in another process if need be: the segment, the offset in it, and the
// last bytes on disk before that offset. If the segment no longer has these bytes
// there, a restart of the writer has cut it, and it may have grown again, to any
// size. Then the Follower reads the segment from its beginning and passes over as
// many raw bytes as it had read. A Position therefore also holds that number and
// how these bytes begin, for its segment and for the one before: between two
// commits, a writer creates one segment at most.
//
// What this rests on: the writer appends the same bytes again. If it dropped lines
// instead, as many bytes of what it appended are passed over. And where segment 1
// is deleted, nobody can say whether retention did it, or a restart without any
// commit: then the first bytes of the next segment decide. Whoever must not depend
// on either reads committed bytes only.
//
// # Memory
//
// One encoder and one frame buffer serve all streams. Nothing grows with the
// volume: of the segments on disk only the next ones to be deleted are known
// by name. Reading holds one frame, and a frame over the bound is damage.
package segment
