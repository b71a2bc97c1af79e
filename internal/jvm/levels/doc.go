// Package levels raises the log levels of JVMs at run time and returns them to
// what they were: wanted log selection → VM.log.
//
// A [Loop] keeps what is wanted by triggers, annotations and commands in a plan (package
// plan), which compares it with what each JVM took last, and carries out the tasks: it sends
// commands only to the JVMs for which the two differ. A restore succeeds only when a list
// has shown that the output is as before; otherwise it is an error, and is tried again.
//
// A JVM without an output into the source can be adopted: it is given one by the same tasks, with
// the same memory, until the Loop drains.
//
// # One owner
//
// One process keeps the levels of a source: the [Loop] of an `ullage run`. It alone changes
// JVMs, and its memory is authoritative. Package control makes that process the owner and
// brings it the requests of commands, and a request is pending until the JVMs have answered.
//
// # Untrusted input
//
// The state directory lies on the tmpfs, which lives as long as the JVMs. The application can
// write there, and in the end to the JVM itself: it gains nothing by a forgery, but it must
// not harm the sidecar. The saved state is checked like any input, and is read at a start
// alone. A lock that the application holds does not stop a Loop: after a while it continues
// without the lock and without a socket.
//
// # Triggers
//
// The raising trigger of package trigger is armed only while nothing is raised,
// everything that was written during a raise has been read, and the cool-down after
// its own last raise is over. So a trigger never fires on the lines of a raise.
package levels
