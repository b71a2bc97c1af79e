// Package clock says when each line of a durable copy was written. Every reader of a copy
// uses it, so that a line has one time in every reader.
//
//	Dating.Frame, Dating.Line... → Line
//
// For each line, a [Dating] returns its class, when it was written, and whether it is in a
// [Window]. The times come from a [Stream], which a reader that needs only a few times can
// use directly.
//
// A record has the time of its date. A record without a date has the start of its JVM and
// its uptime; when the JVM started follows from when lines were persisted, see [Timeline].
// Further lines of a message, and lines that show neither, have the time of the record
// before them. No undated line is later than the last write of its segment, unless the
// segment is a copy whose times mean nothing.
//
// The information depends on when a reader reads. A reader that follows a sidecar does not
// know what a later write will show, so it may date a line later than a reader does an hour
// afterwards, but never later than the line was read. Package insight, which sees lines
// before they are persisted, has only the time of reading. It uses the earliest start that
// follows from that.
package clock
