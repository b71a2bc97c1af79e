// Package read reads back everything that was persisted:
//
//	Source → cut.Lines → clock.Dating → the reader's own package
//
// A [Source] follows the segments of one stream, or decodes a file that no sidecar wrote. It
// reports each part that it could not read as a [Loss], which ends the line before it. A
// [clock.Dating] says what each line is, when it was written, and whether that time is in the
// requested window. The sinks use a Dating too: they read in the same way, except that they keep
// a cursor. The readers and the fetching from S3 have their own packages:
//
//   - cat: `ullage logs`: find, merge, filter, print
//   - check: `ullage check`: is the copy complete?
//   - report: `ullage report` and `ullage pauses`: where a JVM's time went
//   - incident: `ullage incident`: all of this about one time, as an archive
//   - bucket: segments in S3, fetched for a report
package read
