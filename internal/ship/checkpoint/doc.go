// Package checkpoint records the committed state: how far each source file is durable, and
// the corresponding place in each stream's segments.
//
// A checkpoint is only useful together with the source to which it refers, so it is stored with the source, on the
// tmpfs. It has two slots, which are written in turn and in place, into memory that was reserved before, so that a full
// tmpfs cannot prevent a save. A slot is one line of text, followed by the given number of bytes of JSON:
//
//	ullage-checkpoint 1 <length of the JSON> <HMAC-SHA-256 of it, hex> for <name of the key>\n
//
//	{"seq":7,
//	 "streams":[{"name":"gc.log","mark":{"segment":"20261120T100000.000Z-000001.log.zst","offset":51233}}],
//	 "files":[{"dev":25,"ino":4,"born":1795193160091000000,"stream":"gc.log","offset":812345,"check":3735928559,"check_len":64}]}
//
// [segment.Mark] and [position.Saved] explain the fields. Anything after the JSON is left over from an earlier, longer
// state. The name of the key identifies the destination for which the checkpoint was made. The name proves nothing and
// may be missing. It only serves to explain why an HMAC does not match. An unknown version or field makes a slot
// invalid.
//
// # Untrusted input
//
// The application can write to the slots. A slot therefore carries an HMAC, whose key is stored at the destination. An
// HMAC does not distinguish the newest slot from an old one that the application has put back. So each save has a
// number that is higher than those of all earlier saves for the same destination, and the destination records the
// newest number. A slot with a lower number is stale: bytes after its marks may be committed, and reclaimed from the
// source. Without a valid slot, each stream's segments decide: the sound part is kept, and its end is looked up in the
// source files.
//
// The destination may lack the number: an earlier version wrote to it, or the file was
// removed. Then a slot that was put back cannot be recognized, and only two bounds remain.
// A restart cuts at most [Checkpoint.Uncommitted] bytes on disk and one segment after a
// mark. It cuts nothing of a stream for which the source has nothing to read, or that has a
// file with a hole where reading would resume.
//
// If another sidecar with another source wrote to the destination in between, the mark is
// stale too. A restart then keeps all segments, and reads on from the positions of the
// slot.
//
// A start does not wait for the destination. While the key is not known, reading begins with the positions that the
// newer slot claims, and nothing is saved. Once the key has arrived, the marks of the slot are used if the slot is
// authentic; see [Checkpoint.Unseal]. If it is not, reading begins again, and the name of each file determines its
// stream. A forged claim can only damage the forger's own log, which the forger could delete as well.
//
// # Crash windows
//
// Save writes the older slot, so that a kill during Save leaves the other one. After Save, the
// caller records the number at the destination, and only then reclaims. A kill after Save but
// before the number is recorded leaves two usable slots: one that is newer than the number, and
// one with the number. Either may be used, since the source has every line after the older slot.
// Only in this case does a restart cut synced lines; they are persisted again.
//
// The number is written in place into the page cache, and a commit does not sync it: a
// killed process leaves its page cache behind, and a crash of the node destroys the tmpfs
// with its checkpoints. Each process syncs the first number that it writes, a multiple of
// 2^32. So a copy of a slot from before a crash is stale for the next process.
//
// The empty file "checkpointed" next to the slots records that there was a checkpoint. Save
// creates it after the first slot is written and before the writer appends anything. So if
// a source does not have this file, nothing of the source can be persisted already. A
// source that has the file but no valid slot has lost its checkpoint.
//
// Before the writer appends the first line of a file, the checkpoint records to which
// stream the file belongs. A restart may find the file under the name of another stream,
// and must still cut its uncommitted lines off the first stream.
//
// A [Checkpoint] belongs to one goroutine at a time. It starts no goroutines.
package checkpoint
