// Package clock says when each line of a durable copy was written. Every reader of a copy uses
// it, so that a line has the same time in every reader.
//
//	Dating.Frame, Dating.Line... → Line
//
// For each line, a [Dating] returns its class, when it was written, and whether it is in a
// [Window]. The times come from a [Stream], which a reader that needs only a few times can
// use directly.
//
// The time of a record is its date. If a record has no date, its time is the start of its JVM
// plus its uptime; when the JVM started follows from when lines were persisted, see [Timeline].
// Further lines of a message, and lines that show neither a date nor an uptime, have the time of
// the previous record. No undated line is later than the last write to its segment, unless the
// segment is a copied file, whose times mean nothing.
//
// The result depends on when a reader reads. A reader that follows a sidecar does not know what
// a later write will show. So it may give a line a later time than a reader that comes an hour
// afterwards, but never a time after the line was read. Package insight, which sees lines
// before they are persisted, knows only when they were read. It uses the earliest start of the
// JVM that follows from these times.
package clock
