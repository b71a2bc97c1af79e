// Package attach implements HotSpot's attach protocol and the commands of VM.log: it raises the log
// levels of a JVM and restores them. It needs no JDK. It sends only VM.log and commands that change
// nothing: a JVM describes itself with VM.uptime, VM.version, VM.flags and VM.command_line. On
// request of a user, Thread.print and GC.class_histogram stop the JVM to look at its threads and at
// its heap.
//
// # Finding
//
// A JVM listens on the socket .java_pid<N> in its own /tmp, where N is its process ID in its own
// pid namespace. A client can find the socket in two ways:
//
//   - shared-tmp: the JVM's /tmp is also ours (an emptyDir), and the JVM was started with
//     -XX:+StartAttachListener. Only the socket identifies the JVM.
//   - process-namespace: the JVM's process is visible to us. A JVM is a process that has
//     libjvm.so mapped; it is considered if it has a file in the source open. If the JVM does not
//     listen yet, a trigger file and SIGQUIT make it listen.
//
// SIGQUIT kills a process that has no handler for it. It makes a JVM that already listens print a
// thread dump. So the package first opens a descriptor of the process. Then it checks the start
// time of the process, its handler, and that there is no live socket. Only then does it send the
// signal, through that descriptor. Without the descriptor, another process could get the process ID
// after the checks and be killed. A JVM that does not react gets the next signal after 30 seconds.
//
// # Ends
//
// HotSpot removes its socket when the JVM ends in an orderly way; a killed JVM leaves it behind.
// The path to the socket of a visible process leads through the process and vanishes with it, so a
// [Witness] holds a descriptor of the socket. The link count of the socket then shows how the JVM
// ended. The descriptor keeps the file system of the JVM's /tmp busy until the end has been
// noticed.
//
// # Permission
//
// HotSpot serves clients with its own effective uid and gid, and root. It closes other connections
// without a reply. Before the package sends a byte, it asks the kernel which process listens
// (SO_PEERCRED).
//
// # Protocol
//
// Version 1, which all JDKs support (HotSpot's attachListener_posix.cpp): the request is five
// strings, each ended by a NUL: "1", "jcmd", the command line (at most 1024 bytes) and two empty
// strings. The reply is a status, a newline and text up to the end of the connection. Status 0
// means that the transport worked: VM.log has succeeded only if the text is also empty. A command
// line may contain several commands, one on each line; the reply has their texts one after the
// other. So a JVM can describe itself in one reply.
//
// The server has one thread and a backlog of five. The package connects once for each command, once
// more to inspect a JVM that did not answer, and once for a Witness. It waits while the backlog is
// full (EAGAIN). Each search for JVMs connects to every socket whose process is not visible,
// without sending a byte: a socket without a listener (ECONNREFUSED) was left behind by a killed
// JVM. The package does not remove it.
//
// # Untrusted input
//
// The application can write to everything that the package reads. The package opens a socket
// without following a link and without blocking, checks its type and owner, and connects through
// that descriptor: a path might lead to something else after the check. It resolves the paths of a
// JVM inside the JVM's own root. It reads directories, files and replies only up to a bound, and
// each command has one deadline for all its steps.
package attach
