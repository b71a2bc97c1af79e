// Package transport opens the connections of the sinks. It bounds how long the server may
// accept no data, how long it may take to answer, and how much it may answer.
//
// Certificates and keys are files. They are read for each connection, so that a renewed
// file needs no restart.
package transport
