// Package levels raises the log levels of JVMs at run time and returns them to
// what they were: wanted log selection → VM.log.
//
// # Wanted and actual
//
// A raise is a selection that is wanted for a while: by a trigger, by an
// annotation, or by a person at a terminal; the later of these wins while it
// lasts. The end of a raise is a point in time, so that no restart prolongs
// it. A [Manager] compares what is wanted with what each JVM was last told and
// speaks to those JVMs alone for which that differs.
//
// Only outputs whose files the sidecar ships are ever touched. What is sent is
// always absolute: the output's own selection, as the JVM listed it, and the
// raise on top. So no sequence of raises adds up, and to restore is to send
// the same without a raise. A restore counts only when a list has shown that
// the output is what it was; else it is an error, and tried again.
//
//	raise    VM.log list, save the baseline, VM.log output=... what=own,raise
//	change   VM.log output=... what=own,raise
//	restore  VM.log output=... what=own, VM.log list, forget the baseline
//
// # Crash windows
//
// The baseline is saved before the first raise and forgotten after the
// verified restore. A process that finds a saved baseline therefore restores
// it, or puts what is wanted now on top of it, whatever was under way when the
// last one was killed: both commands may be repeated.
//
//	killed before save      nothing has happened
//	killed after save       the JVM may be raised or not: restored, or told again
//	killed after restore    restored once more
//
// The state lies in the source's state directory, on the tmpfs, which lives as
// long as the JVMs that it is about. The application can write there: what is
// read is checked like any input, and can at worst ask for what the
// application could do to its own log itself. A running Manager keeps the
// state in memory if the file is taken away. Commands share the file with the
// Manager under a lock, so there is one owner of a baseline.
//
// # Triggers
//
// A [Watch] sees each new line. It is armed only while nothing is raised, the
// cool-down (as long as the raise was) is over, and everything that was
// written during the raise has been read: so a trigger never fires on what a
// raise has produced.
package levels
