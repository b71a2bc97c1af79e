// Package transport makes the connections of the sinks and bounds what the other side can
// do with them: how long it may take nothing, and how much and how long it may answer.
//
// Certificates and keys are files. They are read for each connection, so that one which is
// renewed needs no restart.
package transport
