// Package naming derives the stream of a file and the kind of its content from its name. It
// also defines which names a stream can have.
package naming
