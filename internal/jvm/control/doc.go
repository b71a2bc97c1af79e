// Package control lets a command reach the process that manages the log levels of a source: list,
// set, reset, rotate, save.
//
// # One owner
//
// The [Owner] is an `ullage run`. As long as it runs, it holds a lock in the source's state
// directory (SOURCE/.ullage/levels.lock). A [Command] sends it requests over a socket (levels.sock)
// and changes no level by itself.
//
// A process that is starting waits for the lock of a process that is draining. If a process is
// killed, the kernel releases its lock. So the process that gets the lock knows that no owner is
// left, and replaces whatever has the name of the socket.
//
// # Untrusted input
//
// The application can write to the state directory.
//
//   - A lock that the application holds does not stop an Owner: after lockPatience, it continues
//     without the lock and without a socket.
//   - A [Request] is one line of at most 4 KiB. It can ask only for list, set, reset,
//     rotate or save. Selections and levels in it are parsed, and none of its other text
//     reaches a JVM. Few connections are served at a time, each with deadlines.
//   - At most 4 MiB of a [Reply] are read, with a deadline, and they are only displayed. The
//     client opens the socket without following a link, and connects through its descriptor.
package control
