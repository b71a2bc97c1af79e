// Package mark records events around a log as lines: the start and end of JVMs, raised and
// restored log levels, missing lines, and the sidecar's own start and end.
//
// A [Mark] is a line in UL's form. The sidecar appends marks to a file in the source,
// SOURCE/ullage.log, as a JVM appends its lines, and follows that file like any other.
// So marks have their own stream: they are persisted exactly once, survive a kill of
// the sidecar, and reach the sinks. They are not in the streams of JVMs.
//
// The application can write to that file too. So a mark does not prove who wrote it, and
// a line that is not exactly a mark is ignored.
package mark
