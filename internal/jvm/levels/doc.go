// Package levels raises the log levels of JVMs at run time and returns them to
// what they were: wanted log selection → VM.log.
//
// # Wanted and actual
//
// A raise is a selection that is wanted for a while: by a trigger, by an
// annotation, or by a person at a terminal; the later of these wins while it
// lasts. The end of a raise is a point in time, so no restart prolongs it. That of a
// trigger's raise is fixed when the first JVM has taken the raise, or should have. A
// [Loop] compares what is wanted with what each JVM took last, and sends
// commands only to the JVMs for which the two differ.
//
// Only outputs whose files the sidecar ships are ever changed. What is sent is
// always absolute: the output's own selection, as the JVM listed it, and the
// raise on top. So no sequence of raises adds up, and to restore is to send
// the same without a raise. A restore counts only when a list has shown that
// the output is what it was; else it is an error, and tried again.
//
//	raise    VM.log list, save the baseline, VM.log output=... what=own,raise
//	change   VM.log output=... what=own,raise
//	restore  VM.log output=... what=own, VM.log list, forget the baseline
//
// A raise is of the streams that it names, or of all outputs whose lines show
// their level. A baseline is of the outputs that one raise has chosen. So a raise
// of other streams begins with a restore, and a new baseline.
//
// # One keeper
//
// One process keeps the levels of a source: the [Loop] of an `ullage run`. It holds a
// lock in the source's state directory (SOURCE/.ullage/levels.lock) for as long as it
// lasts, it alone changes JVMs, and what it has in memory is authoritative. A [Command] asks it
// over a socket (levels.sock), and changes no level by itself.
//
// A Loop that starts waits for the lock of one that drains. The kernel releases the lock
// of a process that is killed. So whoever gets the lock knows that no keeper is left, and
// replaces the socket that is there, whatever it is.
//
// # Crash windows
//
// The saved state (levels.json) is for crashes: a keeper reads it once, when it
// starts, and then only writes it. It saves the baseline before the first raise
// and forgets it after the verified restore. A keeper that finds a saved
// baseline therefore restores it, or puts what is wanted now on top of it,
// whatever was under way when its predecessor was killed: both commands may be
// repeated.
//
//	killed before save      nothing has happened
//	killed after save       the JVM may be raised or not: restored, or raised again
//	killed after restore    restored once more
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
