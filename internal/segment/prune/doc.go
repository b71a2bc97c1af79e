// Package prune removes the durable copies of pods that are gone from a volume
// that many pods share, as sidecars lay it out: NAMESPACE/POD[/CONTAINER], each
// a destination with a lock in .ullage/lock.
//
// # While sidecars live
//
// A sidecar on any node holds the lock of its destination for as long as it lives. Nothing is removed from a
// destination except under its lock, which prune never waits for. Where the file system has no locks, or is
// an NFS that keeps them to the node, nothing is removed at all. The age of a destination is that of its
// youngest file. It is checked again under the lock, because a sidecar may have written meanwhile.
//
// The files go first, the lock last: a run that was killed leaves a destination
// that the next one finds. The directory that holds a destination stays,
// since a kubelet may be about to create another in it: that of a namespace, and
// that of a pod with several JVMs. A destination may be in another: a pod that goes
// from one JVM to two leaves its copy above theirs.
//
// # What is removed
//
// Segments, by their names, the files in .ullage, and the cursors and lists of
// rejected lines in .ullage/sinks. Another file stays, and so
// does the directory that holds it. No link is followed: a tenant can create
// anything in the directory of its pod, and exchange it at any time. A directory
// that can't be read is reported, and the others are pruned.
package prune
