// Package sidecar is the whole of `ullage run`: all its settings, and the wiring
// of its parts. Each package declares its own settings. Package sidecar combines
// them, so that the same rules hold for a command line, the environment and a
// pod's annotations.
//
// [Run] creates the parts, each from earlier ones, connects them with one table that lists the
// receivers of the shipper's events, runs them, and drains them.
package sidecar
