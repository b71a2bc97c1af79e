// Package plan compares the selection wanted for the JVMs of a source with the selection that
// each JVM took last, and makes tasks of the difference: state → tasks.
//
// # Wanted and actual
//
// A raise is a selection that is wanted for a while: by a trigger, by an
// annotation, or by a person at a terminal; the later of these wins while it
// lasts. The end of a raise is a point in time, so no restart prolongs it. That of a
// trigger's raise is fixed when the first JVM has taken the raise, or should have.
//
// A [State] has the raises and, for each JVM that was changed, a [Baseline]: the
// configuration of its outputs before. A [Plan] makes a [Task] for each JVM that differs
// from the [Goal]. The caller carries the task out, and the Plan takes its result. So no
// sequence of raises adds up, and to restore is to send the same without a raise.
//
//	raise    list, save the baseline, configure own,raise
//	change   configure own,raise
//	restore  configure own, list, forget the baseline
//
// A raise changes the streams that it names, or all outputs whose lines show
// their level. A baseline covers the outputs that one raise has chosen. So a
// raise of other streams begins with a restore, and a new baseline.
//
// # Adopted JVMs
//
// A JVM without an output into the source may be given one ([Adopted]), which is taken away in the
// end. It comes before any raise, since a raise needs an output, and is saved in the same way:
//
//	look     list; the JVM has no output into the source
//	give     save, create the output
//	take     list, delete the output, list, forget it
//
// Deleting an output that the JVM does not list would create it, and creating one again
// would lose lines: so a process that is not certain asks for a list first.
//
// # Crash windows
//
// The saved state (levels.json) is for crashes: it is read once, at a start, and then only
// written. The baseline is saved before the first raise, and forgotten after the verified
// restore. A process that finds a saved
// baseline therefore restores it, or puts what is wanted now on top of it,
// whatever was under way when its predecessor was killed: both commands may be
// repeated.
//
//	killed before save      nothing has happened
//	killed after save       the JVM may be raised or not: restored, or raised again
//	killed after restore    restored once more
//
// The application can write the saved state: it is checked like any input, part by part.
package plan
