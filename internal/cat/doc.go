// Package cat prints persisted streams: it finds the segments and files that the
// arguments of a command name, follows them, filters their lines by level and
// time, or lists the gaps in them.
//
//	New → Find → Run
//
// A [Printer] prints one stream after the other. Each is read by a
// [segment.Follower], or decoded as a whole where another program compressed it.
// What was read passes a filter that decides about whole lines and holds at most
// 64 KiB of one, so that memory grows neither with the length of a line nor with
// the stream.
//
// The bytes of the streams go to stdout. What cannot be read is reported on
// stderr, by file and bytes, and passed over; [Printer.Failed] then says so.
package cat
