// Package crash proves, with the real program as a process, that `kill -9` of
// the sidecar at any moment loses nothing and repeats nothing: under writers
// of numbered lines, 20,000 a second with rotation, the sidecar is killed again
// and again and restarted at once. In the end the persisted bytes are the
// written ones.
//
// In a torture, sidecars whose settings are drawn from their extremes are killed,
// terminated and stopped at random moments, under several JVMs that rotate, with a
// destination that is full from time to time. Every line is persisted once or counted by
// a marker or as withheld, and SIGTERM drains. It takes a minute; longer with
//
//	make crash TORTURE=10m
//
// A second sidecar on the source waits until the first has ended.
//
// It needs a tmpfs: one of 64 MiB that it mounts (as root), or /dev/shm. It
// takes about three minutes. The torture also mounts a disk of its own, as root; for
// others the destination is never full.
//
// # A limit that no sidecar can lift
//
// A JVM unlinks its oldest archive at each rotation. What the sidecar has not
// persisted when it is killed is then only in the files; if the JVM overwrites
// an archive before the next sidecar has opened it, it is gone for every
// sidecar. So the archives must outlive the time between a commit and the next
// start: here filecount times filesize is 20 MiB or more, over six seconds of
// lines, and the sidecar is away for some milliseconds.
//
// The moments are random. A failing run prints its seed; the flag -seed makes
// the same moments again:
//
//	go test ./test/crash -args -seed=12345
//
// A round of the torture is named by its seed, with which the flag repeats that round alone.
package crash
