// Package cat prints persisted streams: it finds the segments and files that the
// arguments of a command name, follows them, filters their lines by level and
// time, or lists the gaps in them.
//
//	New → Find → Run
//
// The package has these parts. Each uses only what its arrow points to:
//
//	Printer → series → selector → timeline
//	                 → lines
//
// A [Printer] prints one stream after the other. A series reads the bytes of one
// stream: by a [segment.Follower], or decoded as a whole where another program
// compressed it. Its lines cut the bytes into whole lines, and hold at most 64 KiB of
// one; its selector decides which lines are wanted, by level, time and kind; the
// timeline finds the time of a line without a date. So memory
// grows neither with the length of a line nor with the stream. The last N lines are
// counted before they are printed, from the newest segments back, and not held.
//
// The bytes of the streams go to stdout. What cannot be read is reported on
// stderr, by file and bytes, and passed over; [Printer.Failed] then says so.
package cat
