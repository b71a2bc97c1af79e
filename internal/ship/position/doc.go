// Package position identifies a place in a source file: which file, and how far
// into it.
//
// A file is identified by device, inode and time of birth, never by its name. A
// place in it is an offset and a checksum of the bytes before the offset. The
// checksum distinguishes a file that was truncated and rewritten from a file
// that only grew.
package position
