// Package kernel asks the kernel what the standard library does not: what another process
// does and whose it is, how much memory the control group leaves to this one, timers that
// let an idle process sleep, names of open files, the device of a directory, and calls repeated when a signal interrupts them.
//
// A process that was killed is not gone at once. A thread in a call to a frozen
// disk stays until that call returns, and with it stay the locks and sockets of
// the process, although no thread executes the program any more.
//
// The Go runtime waits for a [time.Timer] in whole milliseconds: first too short by a
// fraction, then too long. Its monitor thread, which knows the exact time, sleeps for 20 µs
// again and again meanwhile, so that each end of a timer wakes up the process some ten times.
// A timer of the kernel ends a wait for input and wakes the process up once.
package kernel
