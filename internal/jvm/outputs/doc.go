// Package outputs knows the log outputs of JVMs: which of them the sidecar ships, the names of
// their streams, and which of them a raise changes. A [Talk] makes JVMs list their outputs,
// describe themselves, rotate their files and change their selection.
//
// Only outputs whose files the sidecar ships are ever changed, created or deleted. Every command is
// absolute: it contains the output's own selection, as the JVM listed it, followed by the raise.
//
// A JVM chooses its answers. Package attach bounds them, errors quote them only up to a bound, and
// no answer stops the sidecar: see [Recover].
package outputs
