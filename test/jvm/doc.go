// Package jvm tests the whole program against real JVMs. Its non-test code runs Java programs and compares what a JVM
// wrote with what was persisted; the demo uses that code as well.
//
// # The independent truth
//
// A JVM under test has two outputs of the same selection and decorations: one
// in the source, and one in a file that ullage never sees. HotSpot determines
// the decorations of a message, such as its time, once for all outputs. It
// writes the message to one output after the other, each under a lock of its
// own. So, as measured on JDK 17 and 25:
//
//   - With a collector that logs from one thread at a time (Serial, Parallel)
//     the two files are the same, byte for byte.
//   - With the other collectors they hold the same lines, but if two threads
//     log at the same moment, the order of their lines may differ between the
//     files (some 100 in 200,000 lines with G1, some 1,000 with Z). The lines of
//     one thread are always in the same order; the decorator tid shows which
//     thread wrote a line.
//   - Each output has its own padding, which can differ if two lines that widen
//     it are in a different order.
//   - A JVM that is killed may have written its last message to the first
//     output but not to the second. The order is that of the options on the
//     command line.
//   - At the moment when VM.log changes the level of one output, the JVM may
//     write a message to that output twice: it links the output at its new
//     level before it unlinks the output from the old one, and a thread that
//     logs meanwhile finds both. Both copies have the same time, to the
//     nanosecond, with no other message of that thread between them. No line is
//     missing.
//
// # Log levels
//
// The tests of log levels ask the JVM itself what it logs, by `jcmd PID VM.log list` or by sending the same few bytes
// to its attach socket, without any of the code under test. After a raise, that list must be what it was before, byte
// for byte except for " (reconfigured)".
//
// HotSpot puts its socket into /tmp, whatever java.io.tmpdir is set to, so the JVMs of parallel tests share that
// directory. Most tests therefore look for JVMs among the processes, where a sidecar sees only JVMs that log to its
// own source. In the other tests each JVM gets a /tmp of its own, which needs root and unshare(1).
package jvm
