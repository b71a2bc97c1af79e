// Package naming derives from the name of a file which stream it belongs to and what a JVM
// writes into it. It also defines which names a stream can have.
package naming
