// Package powercut proves what a crash of the node may leave of the durable copy: it
// enumerates the states of the destination that a power cut can leave, starts a sidecar on
// each, and accounts for every line.
//
//	record → model → states → start, ship → account
//
// # Record
//
// strace records every system call that changes the destination or makes a change durable,
// while real sidecars commit, seal, are killed, and resume. The product has no seam for that,
// and none can be missed: a call that the model does not know fails the test, and so does a
// directory that differs from the model in the end.
//
// # Model
//
// Of a file, all that precedes its last fsync or fdatasync is durable. Of each later write,
// any part may be there: all, nothing, the file's new size with zeros for the bytes, or some of
// its sectors of 512 bytes with zeros for the others. Writes reach the device in any order,
// but a sector that reaches it has all that was written to it until then, because the
// device gets it from the page cache. A later truncation, or extended attribute, is there or is not.
//
// Of a directory, all that precedes its last fsync is durable, and of the later creations,
// renames and deletions a beginning is there, in their order: ext4, XFS and btrfs
// write them in the order of a journal or a log tree. POSIX would allow any subset. The model is weaker
// than these file systems elsewhere: they have one journal, and fsync of a new file makes its name durable; here
// each directory is on its own, and only fsync of a directory makes names durable.
//
// The states of a moment are all combinations. Where there are too many, the test takes the
// extreme ones, in which one change differs from all others, and random ones. Equal states
// are examined once, with the last moment that has them, which asks for the most.
//
// # Account
//
// The node has crashed, so its tmpfs is gone, and the checkpoint with it. In the next pod
// another JVM writes some lines. Then
//
//   - the sidecar starts, ships these lines, and drains;
//   - the copy is sound: all of it decodes, and ullage check counts its lines and calls it
//     complete;
//   - it holds whole lines that were written before the crash, each once, in order and without
//     a gap, then the lines of the next pod;
//   - of these, nothing is missing that a checkpoint called durable before the power cut. The
//     trace has the checkpoints. A checkpoint that survives on its tmpfs, because the storage
//     lost power and the node did not, is a stronger demand that the same rule covers: the
//     segments are there up to the mark.
//
// # The test can fail
//
// TestAMissingSyncIsFound leaves out an fsync of the recorded calls, or moves it after
// the checkpoint, as a wrong program would, and expects that the account finds lost lines.
//
// # Length
//
// By default a moment has at most 60 states, which takes seconds. For hours of them:
//
//	make powercut POWERCUT=1h
//
// It needs strace, the right to trace a process, and a tmpfs.
package powercut
