// Package attach implements HotSpot's attach protocol and the commands of VM.log:
// it raises the log levels of a JVM and restores them. It needs no JDK. It sends
// only VM.log and the commands by which a JVM describes itself, which change
// nothing: VM.uptime, VM.version, VM.flags and VM.command_line.
//
// # Finding
//
// A JVM listens on the socket .java_pid<N> in its own /tmp, N being its number
// in its own pid namespace. A client can find the socket in two ways:
//
//   - shared-tmp: the JVM's /tmp is also ours (an emptyDir), and the JVM was
//     started with -XX:+StartAttachListener. The socket alone identifies the JVM.
//   - process-namespace: the JVM's process is visible to us. A JVM is a process
//     that has libjvm.so mapped; it counts if it has a file of the source open.
//     If the JVM does not listen yet, a trigger file and SIGQUIT make it listen.
//
// SIGQUIT kills a process that has no handler for it. It makes a JVM that already
// listens print a thread dump. So the package opens a descriptor of the process,
// then checks its start time, its handler and that no live socket exists, then
// sends the signal through that descriptor. Without the descriptor, another process
// could get the number after the checks and be killed. A JVM that does not react
// gets the next signal after 30 seconds.
//
// # Ends
//
// HotSpot removes its socket when it ends in order; a killed one leaves it. A
// [Witness] of a visible process holds a descriptor of the socket meanwhile, because the
// path to it leads through the process: the number of the socket's names shows which of
// the two happened. The descriptor keeps the file system of the JVM's /tmp busy until
// the end was seen.
//
// # Permission
//
// HotSpot serves its own effective uid and gid, and root, and closes other
// connections without a reply. Before the package sends a byte, it asks the kernel
// who listens (SO_PEERCRED).
//
// # Protocol
//
// Version 1, which all JDKs have (HotSpot's attachListener_posix.cpp): the
// request is five strings, each ended by a NUL, "1", "jcmd", the command line
// (at most 1024 bytes) and two empty ones; the reply is a status, a newline and
// text up to the end of the connection. Status 0 means that the transport worked:
// VM.log has succeeded only if its text is empty as well. A command line may hold
// several commands, a line each, and their texts follow one another: so a JVM
// names itself in one reply.
//
// The server has one thread and a backlog of five. The package connects once for each
// command, once more to inspect a JVM that did not answer, and once for a Witness. It
// waits while the backlog is full (EAGAIN). Each search for JVMs connects to every socket
// whose process is not visible, without sending a byte: a socket without a listener
// (ECONNREFUSED) is left from a killed JVM. The package leaves it there.
//
// # Untrusted input
//
// The application can write to everything that the package reads. The package
// opens a socket without following a link and without blocking, checks its type and
// owner, and connects through that descriptor: a path could name something else
// after the check. It resolves the paths of a JVM inside the JVM's own root. It reads
// directories, files and replies up to a bound, with one deadline for a whole
// command.
package attach
