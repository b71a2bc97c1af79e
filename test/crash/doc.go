// Package crash proves, with the real program as a process, that `kill -9` of the sidecar at any moment neither loses
// nor repeats anything. Writers write numbered lines, 20,000 a second with rotation, while the sidecar is killed
// again and again and restarted at once. In the end the persisted bytes are the written ones.
//
// In a torture, sidecars whose settings are drawn from extremes are killed, terminated and stopped at random moments,
// under several JVMs that rotate, with a destination that is full from time to time. Every line is persisted once, or
// counted by a marker or as withheld, and SIGTERM drains. It takes a minute, or longer with
//
//	make crash TORTURE=10m
//
// A second sidecar on the source waits until the first has ended.
//
// It needs a tmpfs: one of 64 MiB that it mounts (as root), or /dev/shm. It takes about three minutes. As root, the
// torture also mounts a disk of its own; for other users the destination is never full.
//
// # A limit that no sidecar can lift
//
// A JVM unlinks its oldest archive at each rotation. When the sidecar is killed, lines that it has not persisted
// exist only in the files. If the JVM overwrites an archive before the next sidecar has opened it, its lines are lost
// for every sidecar. So the archives must outlive the time between a commit and the next start: here filecount times
// filesize is 20 MiB or more, over six seconds of lines, and the sidecar is away for some milliseconds.
//
// The moments are random. A failing run prints its seed, and the flag -seed makes the same moments again:
//
//	go test ./test/crash -args -seed=12345
//
// A round of the torture is named by its seed. The flag repeats only that round.
package crash
