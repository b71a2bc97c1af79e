// Package adopt finds JVMs for which nothing was prepared. It makes each of them a place to log
// to: a private directory on the tmpfs that the JVM sees as /dev/shm. A sidecar then adopts the JVM
// with that directory as its source.
//
// The tmpfs is the application's. A [Place] takes an eighth of it at most, however the sidecar
// ends: the JVM rotates the files of the output by itself, and after `kill -9` of the sidecar it
// overwrites its oldest lines rather than fill the tmpfs.
//
// The directory's name has the JVM's process ID and start time. So the next run finds the directory
// that a killed run has left. A JVM that had the same process ID earlier, or has it in another
// container, has another directory.
package adopt
