// Package check finds out whether a durable copy is complete. For each stream and each run of a JVM in it, it reports
// the time range, the lines by level, and the dropped lines; for each stream, also how far back the stream reaches,
// damaged bytes, and missing segments.
//
//	Config.Names → Streams → Receiver.Run..., Receiver.Stream, ... → Total
//
// Results are passed on as soon as they are known. A check holds in memory one frame, the
// beginning of one line, and the list of one stream's segments, however large the copy is.
//
// # What counts as missing
//
// A stream is incomplete if one of the following is in the requested window: lines that the sidecar dropped, leaving
// a marker; lines that the JVM itself dropped and reported; records of an application that were too long and have
// lost a part; bytes that do not decode; a segment that cannot be read; a segment that is missing between two others;
// or a beginning that retention has deleted. An incomplete frame at the end is either still being written or was cut
// off by a crash, after which the next start reads its lines again. It is neither damage nor a loss.
//
// No copy can show lines that never reached the source and that the JVM did not report.
//
// # Times
//
// The time of a record is its date or, without a date, the start of the JVM's run plus the record's uptime. All readers
// estimate that start in the same way; see package clock. A further line of a message has the time of the message's
// first line. For a stream without times, the times of its segments are used.
package check
