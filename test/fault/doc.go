// Package fault breaks the destination of a running sidecar, with the real program on real file systems: the
// destination is full, fails with I/O errors, becomes read-only, is frozen, loses its permissions or its directories,
// or was torn by a power cut. Each test ends with the balance: every written line is persisted once.
//
// It needs root, loop devices, mkfs.ext4 and bindfs: each test mounts an ext4 of its own from an image, and a tmpfs
// as the source. Without them the tests are skipped and say why. They take about three minutes, or half an hour at
// full length, with ULLAGE_FAULT_LONG=1.
//
// # How the faults are made
//
//   - I/O errors: the loop device is made shorter under the mounted file
//     system, so that the kernel refuses writes past its end. An fsync then
//     fails with EIO, the pages are lost, and a later fsync reports success.
//     No device mapper is needed.
//   - Lost writes: the device is a file on a tmpfs that other files fill up, so
//     that it fails every write to a new block. After a new mount, the pages that
//     an fsync failed to write are zeros, even if a later fsync succeeded; each
//     test first checks that with a file of its own.
//   - Read-only: the kernel refuses `mount -o remount,ro` while any process has
//     a file open for writing, and a sidecar always has one open, its lock. So a
//     sidecar can only meet a file system that made itself read-only after an
//     error (errors=remount-ro), which can only be repaired by a new mount.
//   - Stalls: fsfreeze. A process in a call into a frozen file system cannot be
//     ended before the thaw, not even by kill -9, and keeps its locks. So the
//     tests use two kinds of kill -9 in a freeze. One hits a sidecar without a
//     thread in such a call: the test stops the sidecar before the freeze. The
//     other hits a sidecar with a thread that is blocked in such a call.
//   - Silence: a process serves the destination by FUSE, and is stopped. Then
//     no call returns, not even a stat, as with a dead server.
//
// # Floods
//
// The behaviour under pressure is shown with floods (see test/lab): up to 200 MB/s of lines at all levels from a
// process of its own, which times every write. The sidecar compresses lines that the destination does not take and
// moves them into the spool. It drops lines only above the thresholds for drops, which are higher than the threshold
// for the spool. Each flood ends with an account of every line: persisted, or dropped at a place where a marker has
// the exact count, by level. The JVM itself never finds the tmpfs full. Counts are checked; times are only printed. A
// slow write during which the writer's thread was not asleep was preempted: other threads had the CPU.
//
// TestHeadline lets real JVMs log to a frozen disk, and through ullage. The length of a safepoint comes from a second
// output on a tmpfs, and from the JVM's own counters, which do not depend on its log. The lines that a JVM has lost
// are found by a comparison with the second output. With -Xlog:async, both outputs lose the same lines, so the number
// of lost lines is the JVM's own count in the log.
package fault
