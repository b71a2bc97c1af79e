// Package plan compares the selection that is wanted for the JVMs of a source with the selection
// that each JVM last accepted. It turns the differences into tasks: state → tasks.
//
// # Wanted and actual
//
// A raise is a selection that a trigger, an annotation, or a person at a terminal wants for a
// while. A person's raise overrides an annotation's, which overrides a trigger's. The end of a
// raise is a point in time, so no restart prolongs it. The end of a trigger's raise is fixed when
// the first JVM has accepted the raise, or should have.
//
// A [State] has the raises and, for each JVM that was changed, a [Baseline]: the configuration that
// its outputs had before. A [Plan] makes a [Task] for each JVM that differs from the [Goal]. The
// caller carries out the task and gives the Plan the result. Each command has the whole selection,
// so consecutive raises do not add up, and a restore is the same command without a raise.
//
//	raise    list, save the baseline, configure own,raise
//	change   configure own,raise
//	restore  configure own, list, forget the baseline
//
// A raise changes the streams that it names, or all outputs whose lines show their level. A
// baseline covers the outputs that one raise has chosen. So a raise of other streams first restores
// the JVM and then reads a new baseline.
//
// # Adopted JVMs
//
// A JVM without an output into the source may be given one ([Adopted]), which is removed
// later. Adoption comes before any raise, since a raise needs an output. It is saved in the same way:
//
//	look     list; the JVM has no output into the source
//	give     save, create the output
//	take     list, delete the output, list, forget it
//
// If the JVM does not list an output, a command to delete the output would create it. If the JVM
// has the output, creating it again would lose lines. So a process that is not certain asks for a
// list first.
//
// # Crash windows
//
// The saved state (levels.json) is for crashes: it is read once, at a start, and then only written.
// The baseline is saved before the first raise, and forgotten after the verified restore. A process
// that finds a saved baseline therefore restores it, or adds the raise that is now wanted to it,
// whatever its predecessor was doing when it was killed: both commands may be repeated.
//
//	killed before save      nothing has happened
//	killed after save       the JVM may be raised or not: restored, or raised again
//	killed after restore    restored once more
//
// The application can write the saved state: it is checked like any input, part by part.
package plan
