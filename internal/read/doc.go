// Package read is how all that was persisted is read back:
//
//	Source → cut.Lines → Dating → the reader's own
//
// A [Source] follows the segments of one stream, or decodes a file that no sidecar wrote,
// and says what it could not read: each such [Loss] ends the line before it. A [Dating]
// says what each line is, when it was written, and whether that is in the [Window] that was
// asked for. What goes on from there is one package each, and these ask nothing of the
// bytes themselves:
//
//   - cat: `ullage cat`: find, merge, filter, print
//   - check: `ullage check`: is the copy complete
//   - report: `ullage report` and `ullage pauses`: where a JVM's time went
package read
