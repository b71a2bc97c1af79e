// Package checkpoint keeps what is committed: how far each source file is
// durable, and where in each stream's segments that is.
//
// A checkpoint is worth as much as the source it points into, so it lives beside
// it, on the tmpfs: two slots, written in turn, in place and into memory reserved
// before, so that a full tmpfs cannot keep a checkpoint from being saved. A slot
// is one line of text, then as many bytes of JSON:
//
//	ullage-checkpoint 1 <length of the JSON> <HMAC-SHA-256 of it, hex> for <name of the key>\n
//
// Whatever follows is what an earlier, longer state left. The name of the key
// identifies the destination that the checkpoint was made for. The name proves
// nothing and may be missing. It serves to explain why a code does not match.
//
// # Untrusted input
//
// The application can write to the slots. A slot therefore carries an HMAC, whose
// key lies at the destination. An HMAC does not tell the newest slot from an old one that
// the application has put back, so each save has a number, and the destination has the
// number of the newest. A slot with a lower number is stale: what follows its marks may be
// committed, and reclaimed from the source. Without a valid slot, each stream's segments
// decide: the sound part is kept, and its end is looked up in the source files.
//
// A start does not wait for the destination. While the key is not known, reading
// begins with the positions that a slot claims; its marks count once the
// key has come and the slot is authentic, see [Checkpoint.Unseal]. A forged claim
// can only hurt the forger's own log, which the forger could delete as well.
//
// # Crash windows
//
// Save writes the older slot, so that a kill inside it leaves the other one. After Save,
// the caller records the number at the destination, and only then reclaims: a kill between
// the two leaves a slot that is newer than the number, and one that has the number, and
// the source has every line since the older of the two.
//
// An empty file beside the slots says that there was a checkpoint once. Save creates
// it after the first slot is written and before the writer appends anything, so
// nothing of a source without this file can be persisted already.
//
// Before the writer appends the first line of a file, the checkpoint says to
// which stream the file belongs. A restart may find the file under the name of
// another stream, and still has to cut its uncommitted lines off the first one.
//
// A [Checkpoint] belongs to one goroutine at a time. It starts none.
package checkpoint
