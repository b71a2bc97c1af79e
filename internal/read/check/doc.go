// Package check answers whether a durable copy is complete: for each stream and each run
// of a JVM in it, the time range, the lines by level, and the lines that were dropped;
// for each stream, how far back it reaches, damaged bytes and missing segments.
//
//	Config.Names → Streams → Receiver.Run..., Receiver.Stream, ... → Total
//
// Results are handed on as soon as they are known. The memory of a check is a frame, the
// beginning of one line, and the list of one stream's segments, whatever the size of the
// copy.
//
// # What counts as missing
//
// A stream is incomplete if one of these lies in the window of time that was asked for:
// lines that the sidecar dropped (it left a marker), lines that the JVM dropped itself
// and reported, records of an application that were too long and have lost a part, bytes that do not decode, a segment that cannot be read, a segment that
// is missing between two others, or a beginning that retention has deleted. A frame at
// the end whose rest is missing is being written, or was cut off by a crash whose next
// start reads its lines again; it counts as neither.
//
// No copy can show lines that never reached the source and that the JVM did not report.
//
// # Times
//
// The time of a record is its date. Without one, it is the start of the JVM's run and the record's uptime; the start is estimated as all readers do, see package
// clock. A further line of a message has the time of its first line. A stream without times has those of its segments.
package check
