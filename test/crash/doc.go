// Package crash proves, with the real program as a process, that `kill -9` of the sidecar at any moment neither loses
// nor repeats a line. Writers write 20,000 numbered lines a second, with rotation, while the sidecar is repeatedly
// killed and restarted at once. In the end, the persisted bytes are identical to the written bytes.
//
// The torture draws the settings of sidecars from extremes. It kills, terminates and stops them at random moments,
// while several writers rotate their logs and the destination is full from time to time. Every line is persisted
// once, or counted by a marker or as withheld, and SIGTERM drains. It takes a minute, or longer with
//
//	make crash TORTURE=10m
//
// A second sidecar on the source waits until the first has ended.
//
// The package takes about three minutes. It needs a tmpfs: as root it mounts one of 64 MiB, otherwise it uses
// /dev/shm. As root, the torture also mounts its own disk; for other users, the destination is never full.
//
// # A limit that no sidecar can lift
//
// A JVM unlinks its oldest archive at each rotation. When the sidecar is killed, lines that it has not persisted
// exist only in the files. If the JVM overwrites an archive before the next sidecar has opened it, no sidecar can
// read its lines any more. So an archive must exist for longer than the time from a commit to the next start: here
// filecount times filesize is 20 MiB or more, which is over six seconds of lines, and only some milliseconds pass
// from a kill to the next start.
//
// The moments of the kills are random. A failing run prints its seed, and the flag -seed repeats the same moments:
//
//	go test ./test/crash -args -seed=12345
//
// The name of a round of the torture contains its seed. The flag repeats only that round.
package crash
