// Package position says where in a source file something is: which file, and how
// far.
//
// A file is known by device, inode and time of birth, never by its name. A
// place in it is an offset and a checksum of the bytes before that, which tells
// a file that was truncated and written again from one that only grew.
package position
