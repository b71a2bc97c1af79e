// Package prune removes the durable copies of pods that are gone from a volume
// that many pods share, as sidecars lay it out: NAMESPACE/POD[/CONTAINER], each
// a destination with a lock in .ullage/lock.
//
// # While sidecars live
//
// A sidecar on any node holds the lock of its destination for as long as it lives. Nothing is removed from a
// destination except under its lock, for which prune never waits. If the file system has no locks, or is
// NFS with locks that only this node sees, nothing is removed at all. The age of a destination is that of its
// youngest file. The age is checked again under the lock, because a sidecar may have written meanwhile.
//
// The files are removed first and the lock last: a run that was killed leaves a destination that the next
// run finds. The directory that holds a destination is kept, whether it belongs to a namespace or to a pod
// with several JVMs: a kubelet may be about to create another directory in it. A destination may be inside
// another one: when a pod with one JVM gets a second JVM, its new copies are below its old copy.
//
// # What is removed
//
// Segments, by their names, the files in .ullage, and the cursors and lists of
// rejected lines in .ullage/sinks. Any other file is kept, and so is the directory that
// holds it. No link is followed: a tenant can create anything in the directory of its pod
// and replace it at any time. A directory that can't be read is reported, and the others are
// pruned.
package prune
