// Package handover carries a durable copy out of a container while the copy grows. A program in the
// container writes the copy as a tar to its stdout, and a program on another machine unpacks it.
//
//	reader → writer   a line that says what the reader already has from an earlier connection
//	writer → reader   the tar; each entry has what was added to one file
//	reader → writer   [Confirmation]
//
// If the container ends before the confirmation, the reader has the files as they were about a
// second before that end. A segment only grows, and any prefix of a stream's segments can be read.
// The sidecar also changes the other files, whose names or directories begin with a dot, in ways
// other than growing. Readers of the copy do not need these files, so they are sent last, when
// nothing writes to the copy any more. Of these files, only [Report] is sent earlier: with each
// look, if it has changed.
//
// The container runs next to the application that it watches, so [Read] trusts nothing. The last
// entry of the tar is a mark. Without it, a connection that breaks between two files would look
// like the end.
package handover

// Confirmation is the line with which the reader confirms that it has everything. Until then, the
// copy stays in the container.
const Confirmation = "fetched"

// Report is the name of the file with a report of the copy so far, as JSON. The program that writes
// the copy may replace it before each look.
const Report = ".report.json"

// endMark is the name of the last entry.
const endMark = ".end"

// Records of an entry's header. If an entry has no record, the reader does not have the file yet.
const (
	offsetRecord = "ULLAGE.offset" // how many bytes of the file the reader has; the entry continues after them
	goneRecord   = "ULLAGE.gone"   // the reader must remove the file, because retention has deleted it or a restart has cut it
)
