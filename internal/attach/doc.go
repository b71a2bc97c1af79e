// Package attach speaks HotSpot's attach protocol, natively, and knows the
// VM.log dialogue: it raises the log levels of a JVM and sets them back. It
// sends a JVM nothing but VM.log, and needs no JDK.
//
// # Finding
//
// A JVM listens on the socket .java_pid<N> in its own /tmp, N being its number
// in its own pid namespace. There are two ways to it:
//
//   - shared-tmp: the JVM's /tmp is also ours (an emptyDir), and the JVM was
//     started with -XX:+StartAttachListener. A JVM is known by its socket alone.
//   - process-namespace: the JVM's process is visible to us. A JVM is a process
//     that has libjvm.so mapped, and it matters if it has a file of the source
//     open. If it does not listen yet it is asked to: a trigger file, then
//     SIGQUIT.
//
// SIGQUIT kills a process without a handler for it, and makes a JVM that
// listens already print a thread dump. It is sent only where neither can be:
// through a descriptor of the process, after its start time, its handler and
// the absence of a live socket were checked, and once in 30 seconds if nothing
// comes of it.
//
// # Permission
//
// HotSpot serves its own effective uid and gid, and root, and closes other
// connections without a word. Who listens is asked of the kernel
// (SO_PEERCRED) before anything is sent.
//
// # Protocol
//
// Version 1, which all JDKs have (HotSpot's attachListener_posix.cpp): the
// request is five strings, each ended by a NUL, "1", "jcmd", the command line
// (at most 1024 bytes) and two empty ones; the reply is a status, a newline and
// text up to the end of the connection. Status 0 is success of the transport:
// VM.log has succeeded when it also says nothing.
//
// The server has one thread and a backlog of five: a connection is made for
// one command, and only to look where one was not answered; a full backlog (EAGAIN) is waited for.
//
// # Untrusted input
//
// The application can write to all that is looked at. A socket is opened
// without following a link, with a descriptor that cannot block, is checked
// for type and owner, and is connected to by that descriptor. Paths of a JVM
// are resolved inside its own root. Directories, files and replies are read up
// to a bound, and one deadline is set for all of a command.
package attach
