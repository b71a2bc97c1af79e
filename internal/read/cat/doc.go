// Package cat prints persisted streams: it finds the segments and files that the arguments of a command name, follows
// them, and filters their lines by level and time, or lists the gaps in them.
//
//	New → Find → Run
//
// The package has these parts. Each uses only the parts to which its arrow points:
//
//	Printer → merging → series → selector → clock.Dating
//	        → notice           → read.Source
//
// A [Printer] finds the series and prints their lines as text, or the gaps as a table. The merging picks the series
// with the earliest next line. A series reads one stream through a [read.Source]. Its selector decides which lines
// are wanted, by level, by kind, and by the times that a [clock.Dating] gives them. The seek file, if there is one,
// determines where in the segments reading begins. A notice reports to the Printer, if it follows, when to look again.
//
// # Memory
//
// At most 64 KiB of a line are in memory, however long the line is. A series holds one frame of its stream. At most
// 16 series are open at a time. They hold up to 48 MiB in all, in addition to the frame that is being read. The
// others are parked and keep up to 16 MiB in all. Seek files take up to 8 MiB in all; once that is used up, series
// are read without a seek file. The last N lines are not held in memory: they are counted before they are printed,
// from the newest segments back.
//
// # Errors
//
// The bytes of the streams go to stdout. Anything that cannot be read is skipped and
// reported on stderr, with its file and position; then [Printer.Failed] returns true.
package cat
