// Package fault breaks the destination of a running sidecar, the real program
// on real file systems: it is full, fails with I/O errors, becomes read-only,
// is frozen, loses its permissions or its directories, or was torn by a power
// cut. Each test ends with the balance: what was written is persisted, once.
//
// It needs root, loop devices, mkfs.ext4 and bindfs: each test mounts an ext4
// of its own from an image, and a tmpfs as the source. Without them the tests are
// skipped and say why. It takes about three minutes, and half an
// hour in full length, with ULLAGE_FAULT_LONG=1.
//
// # How the faults are made
//
//   - I/O errors: the loop device is made shorter under the mounted file
//     system, so that the kernel refuses writes past its end. An fsync then
//     fails with EIO, the pages are lost, and a later fsync says that all is
//     well. No device mapper is needed.
//   - Lost writes: the device lies on a tmpfs that others fill up, so that it
//     fails every write to a block that it has not had before. After a new
//     mount the pages that an fsync failed to write are zeros, whatever later
//     ones said; each test first sees that with a file of its own.
//   - Read-only: `mount -o remount,ro` is refused by the kernel while any
//     process has a file open for writing, and a sidecar always has one, its
//     lock. So what a sidecar can meet is a file system that made itself
//     read-only after an error (errors=remount-ro), and that is only mended by
//     mounting it again.
//   - Stalls: fsfreeze. A process that is held in a call into a frozen file
//     system cannot be ended before the thaw, not by kill -9 either: it keeps
//     its locks. So there are two kinds of kill -9 in a freeze: of a sidecar
//     none of whose threads is in such a call, which was stopped before the
//     freeze to make sure of that, and of one that is held.
//   - Silence: the destination is served by a process, by way of FUSE, and that
//     is stopped. Then nothing returns, not even a look, as with a server that
//     is dead.
//
// # Floods
//
// What happens under pressure is shown with floods (see test/lab): up to 200
// MB/s of lines at all levels from a process of its own, whose every write is
// timed. The sidecar moves what the destination does not take into the spool,
// compressed, and drops lines only past the marks after that. Each flood ends
// with an account to the line: persisted, or dropped at a place where a marker
// has the very count, by level; and the JVM itself has never met a full tmpfs.
// Times are printed, counts are asked for. A slow write in which the writer's
// thread was not asleep was preempted: others had the CPU.
//
// TestHeadline lets real JVMs log to a frozen disk, and through ullage. How
// long a safepoint was is told by a second output on a tmpfs, and by the JVM's
// own counters, which have no part in its log. Which lines a JVM has lost is
// told by the second output; with -Xlog:async, where both outputs lose the
// same, by the JVM's own count in the log.
package fault
