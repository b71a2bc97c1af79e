// Package handover carries a durable copy out of a container while the copy grows: as a tar on the
// stdout of a program in it, which a program on another machine unpacks.
//
//	reader → writer   a line that says what the reader has, of an earlier connection
//	writer → reader   the tar, with an entry for what each file has grown by
//	reader → writer   [Confirmation]
//
// If the container ends in between, the reader has what its files had about a second before. A
// segment only grows, and any prefix of a stream's segments can be read. The sidecar changes the
// other files, whose names or directories begin with a dot, and readers do without them: these
// come with the last entries, when nothing writes to the copy any more.
//
// The container runs next to what it watches, so [Read] trusts nothing. The last entry of the tar is
// a mark without which a connection that breaks between two files would look like the end.
package handover

// Confirmation is the line by which the reader says that it has everything. Until then the copy stays
// in the container.
const Confirmation = "fetched"

// endMark is the name of the last entry.
const endMark = ".end"

// Records of an entry's header. An entry without a record is a file that the reader does not have.
const (
	offsetRecord = "ULLAGE.offset" // the reader has that many bytes of the file, and the entry continues there
	goneRecord   = "ULLAGE.gone"   // the reader is to remove the file, which retention has deleted or a restart has cut
)
