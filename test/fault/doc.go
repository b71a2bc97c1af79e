// Package fault breaks the destination of a running sidecar, the real program
// on real file systems: it is full, fails with I/O errors, becomes read-only,
// is frozen, loses its permissions or its directories, or was torn by a power
// cut. Each test ends with the balance: what was written is persisted, once.
//
// It needs root, loop devices and mkfs.ext4: each test mounts an ext4 of its
// own from an image, and a tmpfs as the source. Without them the tests are
// skipped and say why. It takes about 40 seconds.
//
// # How the faults are made
//
//   - I/O errors: the loop device is made shorter under the mounted file
//     system, so that the kernel refuses writes behind its end. An fsync then
//     fails with EIO, the pages are lost, and a later fsync says that all is
//     well. No device mapper is needed.
//   - Read-only: `mount -o remount,ro` is refused by the kernel while anybody
//     has a file open for writing, and a sidecar always has one, its lock. So
//     what a sidecar can meet is a file system that made itself read-only after
//     an error (errors=remount-ro), and that is only mended by mounting it
//     anew.
//   - Stalls: fsfreeze. A process that is held in a call into a frozen file
//     system cannot be ended by anybody before the thaw, not by kill -9 either.
package fault
