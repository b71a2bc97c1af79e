// Package segment reads the durable copy: a sequence of segments for each stream. A
// segment is a file that grows by whole frames, is sealed, and is deleted when it is
// old. The package defines what readers and the writer share: the names of segments,
// their frames, and where a commit ends. It changes nothing on disk.
//
// A [Reader] reads one segment and a [Follower] reads a stream, even while a sidecar appends
// to it; [Decode] reads files that no sidecar wrote. The packages below it:
//
//   - store: the only writer: it appends, syncs, recovers and retains segments
//   - owner: asks the sidecar that holds a destination which lines are not persisted yet
//   - seek: when lines were read, and where they are: the seek file of a stream
//   - clock: when each line was written
//   - index: what sealed segments hold: the file of sums of a stream
//   - prune: removes the copies of pods that are gone
//
// # Layout
//
//	DEST/.ullage/lock                                    held by the one process that writes
//	DEST/.ullage/key                                     32 random bytes, see package store
//	DEST/.ullage/checkpoint-number                       of the newest checkpoint, see package store
//	DEST/STREAM/20261120T100000.000Z-000001.log.zst      a segment
//	DEST/STREAM/.seek                                    when lines were read, see package seek
//	DEST/STREAM/.sums                                    what sealed segments hold, see package index
//
// The name of a segment is the UTC time of its creation, a sequence number of at least six digits
// and the suffix of its compression: .log.zst, .log.gz or .log. The number alone orders the
// segments of a stream, because a clock can step back. Numbers may be missing: a restart deletes
// segments that were never committed, and their numbers are not used again. See [Info.Follows].
//
// # Format
//
// A segment is a concatenation of frames and nothing else, so the standard zstdcat
// and zcat read it, even while it grows. Each frame holds at most
// [FrameBytes] raw bytes:
//
//	.log.zst   one Zstandard frame with content size and checksum (RFC 8878, 3.1.1)
//	.log.gz    one gzip member (RFC 1952)
//	.log       the raw bytes, without any framing
//
// No frame refers to another frame, so any prefix of frames can be decoded, and so can the frames
// after a damaged one. The end of a Zstandard frame follows from its header and the three bytes
// before each of its blocks, without decoding. In a segment without frames, a [Reader] treats zeros
// that a power cut has left up to the end of a sector as damage.
//
// # Following
//
// A [Follower] reads a stream while another process writes it:
//
//	OpenFollower → Next... → io.EOF → (wait) → Next... → Close
//
// Next never waits and returns each raw byte once. The Follower remembers the segment, the offset
// in it, and the last bytes on disk before that offset. If the segment no longer has these bytes
// there, a restart of the writer has cut it, and it may have grown again, to any size. Then the
// Follower goes back to the newest of the last 32 frame ends before which the segment still has the
// same bytes, or else to the beginning of the segment. It skips as many raw bytes as it had read
// after that place. For this, it also remembers that number and the first of these bytes, for its
// segment and for the previous one: between two commits, a writer creates at most one segment.
//
// The Follower assumes that the writer appends the same bytes again, unless the first of them
// differ. If the writer dropped lines after these first bytes, the Follower still skips that many
// bytes. If segment 1 was deleted, either retention or a restart before any commit may have done
// that: the first bytes of the next segment decide. A caller that must not depend on either
// assumption reads only committed bytes.
//
// No file records how far a stream is committed. Only package cat would read such a file, and only
// while it follows: a sink gets the marks of the checkpoint from the writer in its process, and all
// other readers also want the bytes after the mark, which may be the only copy once a node has
// died. If the file were missing, stale or not writable (an old directory, the cache of an NFS
// client, a full disk), cat would still need the rule above. So the file would replace nothing, and
// would add a state, and a write to each commit of a stream.
//
// # Memory
//
// A reader holds one frame and treats a frame that exceeds its limit as damage.
package segment
