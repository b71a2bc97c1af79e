// Package outputs knows the log outputs of JVMs: which of them the sidecar ships, what their
// streams are called, and which ones a raise changes. A [Talk] has JVMs list their outputs,
// describe themselves, rotate their files, and log another selection.
//
// Only outputs whose files the sidecar ships are ever changed, created or deleted. Every command is
// absolute: it has the output's own selection, as the JVM listed it, and the raise on top.
//
// A JVM chooses its answers. What it answers is bounded by package attach, quoted up to a
// bound in errors, and no answer stops the sidecar: see [Recover].
package outputs
