// Package adopt finds JVMs for which nothing was prepared. For each of them, it creates a place for
// a log: a private directory on the tmpfs that the JVM sees as /dev/shm. A sidecar then adopts the
// JVM with that directory as its source.
//
// The tmpfs belongs to the application. A [Place] takes at most an eighth of it, no matter how the
// sidecar ends: the JVM itself rotates the files of the output. So after a `kill -9` of the
// sidecar, the JVM overwrites its oldest lines instead of filling the tmpfs.
//
// The name of the directory contains the JVM's process ID and start time. So the next run finds the
// directory that a killed run has left. An earlier JVM with the same process ID, or a JVM with that
// process ID in another container, has another directory.
package adopt
