// Package powercut proves that the durable copy survives a crash of the node: it enumerates the states of the
// destination that a power cut can leave, starts a sidecar on each, and accounts for every line.
//
//	record → model → states → start, ship → account
//
// # Record
//
// strace records the system calls that change a file's content, an extended attribute, a name or a directory, or make
// a change durable, while real sidecars commit, seal, are killed, and resume, and while retention deletes segments and
// whole streams. The product needs no hook for that. The test fails if a recorded call is unknown to the model, or if
// the directory differs from the model in the end.
//
// # Model
//
// Everything in a file that precedes its last fsync or fdatasync is durable. Any part of each later write may have
// survived: all, nothing, the file's new size with zeros for the bytes, or some of its sectors of 512 bytes with
// zeros for the others. Writes reach the device in any order, but a sector that reaches the device has everything that
// was written to that sector until then, because it comes from the page cache. A later truncation has happened or not.
// An extended attribute is set if a later change of its file has survived: file systems keep the order of metadata
// changes.
//
// Everything in a directory that precedes its last fsync is durable. Of the later creations, renames and deletions,
// the first few have happened, in order: ext4 and XFS write them to a journal in that order. POSIX would allow any
// subset. In other respects the model promises less than these file systems do: they have one journal, and fsync of a
// new file makes its name durable; here each directory is independent, and only fsync of a directory makes names
// durable.
//
// The states of a moment are all combinations of these. If there are too many, the test takes the extreme states,
// in which at most one change differs from the others, and random states. Equal states are examined once, for the
// latest moment that has them, because that moment demands the most.
//
// # Account
//
// The node has crashed, so its tmpfs and the checkpoint are gone. In the next pod another JVM writes some lines. Then
//
//   - the sidecar starts, ships these lines, and drains;
//   - the copy is intact: all of it decodes, and ullage check counts its lines and calls it
//     complete;
//   - it holds whole lines that were written before the crash, each once, in order and without
//     a gap, followed by the lines of the next pod. Only the first lines, which retention had
//     begun to delete, may be missing;
//   - nothing is missing that a checkpoint called durable before the power cut. The
//     checkpoints are in the trace.
//
// Without compression there are no checksums. If a later write has reached the disk and an earlier write has not, the
// copy has zeros in place of lines that were never committed. The account allows these zeros, but no other bytes that
// were not written. No reader shows them as text, and ullage check counts their bytes as damaged and does not call
// the copy complete.
//
// # The test can fail
//
// TestAMissingSyncIsFound removes an fsync from the recorded calls, or moves it after the checkpoint, as in a
// faulty program, and expects the account to find the lost lines.
//
// # Length
//
// By default each scene has about a thousand states, which takes seconds. To run them for hours:
//
//	make powercut POWERCUT=1h
//
// It needs strace, the right to trace a process, and a tmpfs.
package powercut
