// Package read is how all that was persisted is read back:
//
//	Source → cut.Lines → clock.Dating → the reader's own
//
// A [Source] follows the segments of one stream, or decodes a file that no sidecar wrote.
// It reports what it could not read: each such [Loss] ends the line before it. A
// [clock.Dating] says what each line is, when it was written, and whether that is in the
// requested window. The sinks use it too, since they read as this package does, except for
// a cursor. What goes on from there is one package each:
//
//   - cat: `ullage logs`: find, merge, filter, print
//   - check: `ullage check`: is the copy complete
//   - report: `ullage report` and `ullage pauses`: where a JVM's time went
package read
