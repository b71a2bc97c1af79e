// Package check answers whether a durable copy is complete: for each stream and each run
// of a JVM in it, the time range, the lines by level, and the lines that were dropped;
// for each stream, how far back it reaches, damaged bytes and missing segments.
//
//	Config.Names → Streams → Receiver.Run..., Receiver.Stream, ... → Total
//
// Results are passed on as soon as they are known. A check holds in memory one frame, the
// beginning of one line, and the list of one stream's segments, however large the copy is.
//
// # What counts as missing
//
// A stream is incomplete if one of these lies in the requested window: lines that the sidecar dropped, leaving a
// marker; lines that the JVM dropped itself and reported; records of an application that were too long and have lost
// a part; bytes that do not decode; a segment that cannot be read; a segment that is missing between two others; or a
// beginning that retention has deleted. An incomplete frame at the end is either still being written or was cut off
// by a crash, after which the next start reads its lines again. It is neither damage nor a loss.
//
// No copy can show lines that never reached the source and that the JVM did not report.
//
// # Times
//
// The time of a record is its date. A record without a date has the start of the JVM's run plus its uptime; the start
// is estimated as in all readers, see package clock. A further line of a message has the time of its first line. A
// stream without times has the times of its segments.
package check
