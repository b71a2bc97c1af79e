// Package naming tells by the name of a file which stream it belongs to and what a JVM
// writes into it, and which names a stream can have.
package naming
