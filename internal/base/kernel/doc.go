// Package kernel wraps functions of the kernel that the standard library lacks: what another
// process does and who its user is, how much memory the control group leaves to this process,
// timers that let an idle process sleep, names of open files, the device of a directory, and
// retries of calls that a signal interrupts.
//
// A process that was killed does not disappear at once. A thread in a call to a frozen disk
// remains until that call returns, and so do the locks and sockets of the process, although no
// thread executes the program any more.
//
// The Go runtime waits for a [time.Timer] in whole milliseconds: the first wait ends up to a
// millisecond too early, and the next one too late. Meanwhile the runtime's monitor thread,
// which knows the exact time, repeatedly sleeps for 20 µs. So each timer that ends wakes the
// process up about ten times. A kernel timer ends a wait for input and wakes the process up
// once.
package kernel
