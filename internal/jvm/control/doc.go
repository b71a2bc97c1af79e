// Package control is how a command reaches the process that keeps the log levels of a source:
// list, set, reset, rotate, save.
//
// # One owner
//
// The [Owner] is an `ullage run`. It holds a lock in the source's state directory
// (SOURCE/.ullage/levels.lock) for as long as it lasts. A [Command] asks it over a socket
// (levels.sock) and changes no level by itself.
//
// A starting process waits for the lock of a draining one. The kernel releases the lock of a
// process that is killed. So the process that gets the lock knows that no owner is left. It
// replaces the socket that is there, whatever it is.
//
// # Untrusted input
//
// The application can write to the state directory.
//
//   - A lock that the application holds does not stop an Owner: after lockPatience it
//     continues without the lock and without a socket.
//   - A [Request] is one line of at most 4 KiB. It can ask for list, set, reset, rotate and
//     save, with a selection that is parsed: nothing else reaches a JVM. Few connections are
//     served at a time, each with deadlines.
//   - A [Reply] is read up to 4 MiB and a deadline, and is only shown. The socket is opened
//     without following a link; the connection goes to its descriptor.
package control
