// Package levels raises the log levels of JVMs at run time and restores them afterwards: wanted log
// selection → VM.log.
//
// A [Loop] records in a plan (package plan) what triggers, annotations and commands want. The plan
// compares that with what each JVM last accepted, and the Loop carries out the resulting tasks: it
// sends commands only to the JVMs for which the two differ. A restore succeeds only when a list has
// shown that the output is as it was before; otherwise, the restore is an error and is tried again.
//
// A JVM without an output into the source can be adopted: such a JVM is given an output by the same
// tasks, with the same saved state. It has that output until the Loop drains.
//
// # One owner
//
// One process manages the levels of a source: the [Loop] of an `ullage run`. It alone changes JVMs,
// and its memory is authoritative. Package control makes that process the owner and passes the
// requests of commands to it. A request is pending until the JVMs have answered.
//
// # Untrusted input
//
// The state directory is on the tmpfs, which lives as long as the JVMs. The application can write
// to the tmpfs, and to the JVM itself in any case. So the application gains nothing from a forgery,
// but a forgery must not harm the sidecar. The saved state is checked like any other input, and is
// read only at a start. If the application holds the lock, that does not stop a Loop: after a
// while, the Loop continues without the lock and without a socket.
//
// # Triggers
//
// The raising trigger of package trigger is armed only while nothing is raised, everything written
// during a raise has been read, and the cool-down after its own last raise is over. So a trigger
// never fires on lines that a raise produced.
package levels
