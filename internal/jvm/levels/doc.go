// Package levels raises the log levels of JVMs at run time and returns them to
// what they were: wanted log selection → VM.log.
//
// A [Loop] keeps what is wanted by triggers, annotations and commands in a plan (package
// plan), which compares it with what each JVM took last, and carries out the tasks: it sends
// commands only to the JVMs for which the two differ. A restore counts only when a list has
// shown that the output is what it was; else it is an error, and tried again.
//
// # One keeper
//
// One process keeps the levels of a source: the [Loop] of an `ullage run`. It holds a
// lock in the source's state directory (SOURCE/.ullage/levels.lock) for as long as it
// lasts, it alone changes JVMs, and what it has in memory is authoritative. A [Command] asks it
// over a socket (levels.sock), and changes no level by itself.
//
// A Loop that starts waits for the lock of one that drains. The kernel releases the lock
// of a process that is killed. So the process that gets the lock knows that no keeper is left, and
// replaces the socket that is there, whatever it is.
//
// # Untrusted input
//
// The state directory lies on the tmpfs, which lives as long as the JVMs. The
// application can write there, and in the end to the JVM itself: it gains
// nothing by a forgery, but it must not harm the sidecar or a command.
//
//   - The saved state is checked like any input, and is read at a start alone.
//   - A lock that the application holds keeps a Loop from nothing: after
//     lockPatience it goes on without the lock, and without a socket.
//   - A request is one line of at most 4 KiB. It can ask for list, set, reset and
//     rotate, with a selection that is parsed: nothing else reaches a JVM. Few
//     connections are served at a time, each with deadlines.
//   - A reply is read up to 4 MiB and a deadline, and is only shown. The socket is
//     opened without following a link, and is connected to by its descriptor.
//
// # Triggers
//
// The trigger that raises, of package trigger, is armed only while nothing is raised,
// everything that was written during a raise has been read, and, after a raise of
// its own, the cool-down that begins then is over: so a trigger never fires on
// what a raise has produced.
package levels
