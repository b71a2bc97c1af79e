// Package jvm tests the whole program against real JVMs. Its other code runs
// Java programs and compares what a JVM wrote with what was persisted; the demo
// uses that code as well.
//
// # The independent truth
//
// A JVM under test has two outputs of the same selection and decorations: one
// in the source, one in a file that ullage never sees. HotSpot takes the
// decorations (the time, for one) once a message and shares them among all
// outputs, and writes a message to one output after the other, each under a
// lock of its own. So, as measured on 17 and 25:
//
//   - With a collector that logs from one thread at a time (Serial, Parallel)
//     the two files are the same, byte for byte.
//   - With the others they hold the same lines, but two threads that log at
//     the same moment may come in one order here and in the other order there
//     (some 100 in 200,000 lines with G1, some 1,000 with Z). The lines of one
//     thread are always in the same order: the decorator tid tells them apart.
//   - Padding is that of the output, which can differ where two lines that
//     widen it have changed places.
//   - A JVM that is killed has written its last message to the first output
//     and perhaps not to the second. The order is that of the command line.
//   - In the moment in which VM.log changes the level of one output, it may
//     write a message to that output twice: it links the output at its new
//     level before it unlinks the output from the old one, and a thread that
//     logs meanwhile meets both. Both have the same time, to the nanosecond,
//     and nothing of the same thread is between them. No line is missing.
//
// # Log levels
//
// The tests of log levels ask the JVM itself what it logs, by `jcmd PID VM.log
// list` or in the same few bytes on its attach socket: with none of the code
// under test. After a raise, that list must be what it was before, byte for
// byte but for " (reconfigured)".
//
// HotSpot puts its socket into /tmp, whatever java.io.tmpdir says, so that the
// JVMs of tests that run side by side meet there. Most tests therefore look for
// JVMs among the processes, where a sidecar sees those alone that log to its
// own source; in the others, each JVM gets a /tmp of its own, which needs root
// and unshare(1).
package jvm
