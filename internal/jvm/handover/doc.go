// Package handover carries a durable copy out of a container: as a tar on the stdout of a program in
// it, which a program on another machine unpacks.
//
// The container runs next to what it watches, so [Read] trusts nothing. The last entry of the tar is
// a mark without which a connection that breaks between two files would look like the end.
package handover

// Confirmation is the line by which the reader says that it has everything. Until then the copy stays
// in the container.
const Confirmation = "fetched"

// endMark is the name of the last entry.
const endMark = ".end"
