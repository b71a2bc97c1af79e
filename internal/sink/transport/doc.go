// Package transport makes the connections of the sinks. It bounds what the other side can
// do with them: how long it may accept no data, and how long and how much it may answer.
//
// Certificates and keys are files. They are read for each connection, so that a renewed
// one needs no restart.
package transport
