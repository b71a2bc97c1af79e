// Package tail follows the source: the files that JVMs write into one
// directory, most often on tmpfs.
//
// It finds the files and holds each one open by inode from the moment it is found until it is
// finished. It reads them into memory that the caller lends, splits them into lines, and
// frees the memory of committed bytes. A source file is identified by device, inode and
// time of birth, never by its name or its first bytes, so that a rotation, a rename, an
// unlink or a re-used inode neither loses nor repeats anything.
//
// # Order
//
// The files of one -Xlog output, f and its archives f.N, are one stream. The files of a stream
// are read from the oldest to the newest, each one to its end before the next. The age of files
// follows from the order in which scans found them. For files that the same scan found, it
// follows from the names (f is newer than its archives), then from the inode numbers on a
// tmpfs, and elsewhere from the times of birth. So a clock that was set back can only swap
// archives that the same scan found, and cannot even do that on a tmpfs.
//
// A file is read only after a listing of the directory that began when the file was already
// held, so that a rotation in the middle of a scan cannot hide an older file. When a newer
// file is seen, the JVM has closed the older file that it rotated away, so one more read to
// its end finds all of it. (If two JVMs share one output, one of them may still write to
// the older file. That file is then read further, between reads of the newer one.)
//
// # A start
//
// [Start.Restore] takes the positions of a checkpoint, and the first scan looks for their
// files. The scan can miss an existing file: the file has a second name, or a name that
// does not match, or there are more files than the Source may hold, or a JVM renamed the
// file during the scan. The position of such a file waits. It stays in the checkpoint, and
// the file's stream is treated as unread, until a scan of the whole directory does not find
// the file. A file that was moved to another directory is gone: if it comes back after a
// restart, it is read from its beginning.
//
// Without a checkpoint, [Start.Align] looks for the end of the persisted copy in
// the files of the stream, and in the records of the spool. This search has four
// limits:
//
//   - Align treats every file that is older than the place as persisted, because
//     files are read in the order of their birth. If a second JVM still wrote to
//     an older file, or an older file was hidden until the checkpoint was lost,
//     the unread lines of that file are skipped, and nothing counts them.
//   - If the end is in a file more than once, Align takes the first place, and
//     the lines after it are persisted twice.
//   - Align cannot look up a marker, since no marker is in the source. Next therefore hands on
//     a marker together with the lines after it. If there were no such lines yet, Align finds
//     nothing. Whatever is left in the files is then persisted again: less than two pages of a
//     punched file.
//   - No position lies inside a record. If the copy ends inside one, the lines of
//     the record are persisted again.
//
// # Lines
//
// Only bytes up to a '\n' are consumed, since a reader can see half of a write. There are two
// exceptions. A line longer than the limit is handed on in pieces, so that memory does not grow
// with it. And the unterminated rest of a file without a writer is handed on with a '\n' after
// it, so that it does not run into the next line. The same applies to a line that was handed on
// in part and whose rest is gone because the file was truncated or deleted: a '\n' precedes the
// next data of the stream. This '\n' is the only byte that is ever added.
//
// # Truncation
//
// Each read repeats the last few bytes before its position. The file was truncated in place
// if it has become shorter, if these bytes differ, or if the first page was freed and has
// data again. (A JVM with filecount=0 truncates its file when it starts.) The file then has
// another content: a File of its own, with the same descriptor and the next epoch, which is
// read from its beginning. The File of the earlier content stays without a descriptor until
// its records are durable. Bytes that were neither read nor moved are lost.
//
// # Pressure
//
// While the destination accepts nothing, [Reliever.Move] compresses the oldest unread
// lines, moves them into the spool, and punches them out of their file. When reading
// reaches the position at which a record begins, it hands on the record; nothing else in
// the source knows about records. A record whose lines [Reliever.Drop] has dropped is
// handed on as a marker, which says how many lines of which levels are missing.
//
// The order is append, then punch. A kill in between leaves the lines in both places: the
// record is valid, and the next start punches the file. So the checkpoint need not know about
// the spool, nor the spool about the checkpoint. A commit past a record frees the record.
//
// A stream that takes less memory than its share loses nothing, whatever other streams
// write: Drop takes lines of the largest stream above its share. Next reads the streams in
// turns of equally many bytes.
//
// # Freeing memory
//
// Reclaim punches whole pages, or unlinks finished files, up to the committed position and
// never further. The page with the byte before that position stays, so that the check for a
// truncation works after a restart too. A file is finished when all of it is committed and
// no process has it open for writing: only then does the kernel grant a read lease. To
// unlink a file, its name is first moved into the state directory. If another file has
// taken the name, or a process writes to the file, the file gets its name back; a start
// restores the names of files that a killed process left there. The descriptor stays open until
// a second check has the same result.
//
// Files beyond the number that may be held wait and take turns. Finished files make room: they
// are unlinked. If that is not permitted, they are closed and their positions are kept, up to
// 4,096 of them.
//
// # Untrusted input
//
// The directory is writable by the application. Only regular files with one link are opened,
// and only after their type was checked through a descriptor whose opening can neither block
// nor follow a link. Holes are skipped. Everything else is counted with a reason and not
// touched.
//
// # Parts
//
// Each part of a [Source] owns its state and uses only the parts below it. From
// the top:
//
//	source    [Source] makes the parts and is the contract: source.go
//	start     [Start] finds where reading begins: start.go, align.go
//	relief    [Reliever] frees memory of lines that are not durable: relieve.go;
//	          policy.go chooses the stream and the lines (a drop policy goes
//	          there), and block.go moves lines into the spool
//	reading   streams in turns, records, lines: read.go, pass.go, lines.go
//	scanning  lists the directory and opens files: scan.go, ignore.go; where an earlier
//	          process stopped, and how many files may be held: resume.go, refuse.go
//	reclaim   frees memory of what is committed: reclaim.go, unlink.go, punch.go (a
//	          further way of freeing memory goes there)
//	watching  events, or polls while lines flow, and the slow poll: watch.go
//	changes   a file that was truncated begins again: truncation.go
//	shared    the directory, its last listing, the spool, and what every part is given:
//	          directory.go, listing.go, spooler.go, env.go
//
// Below all of them is package source, which no other package uses: it knows which files there
// are, held or absent, and the state of each.
//
// A [Source] starts no goroutine and is not safe for concurrent use, apart
// from its metrics.
package tail
