// Package mark is what happened around a log, as a line: JVMs that started and ended, log
// levels that were raised and restored, what is missing, and the sidecar's own start
// and end.
//
// A [Mark] is a line in UL's form. The sidecar appends marks to a file of the source,
// SOURCE/ullage.log, as a JVM appends its lines, and follows that file like any other,
// so marks are a stream of their own: they are persisted exactly once, survive a kill
// of the sidecar, and reach the sinks. They are not in the streams of JVMs.
//
// The application can write to that file too. A mark proves nothing about its author, and
// whatever is not exactly a mark is ignored.
package mark
