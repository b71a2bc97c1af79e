// Package sidecar is the whole of `ullage run`: every one of its settings,
// and the wiring of its parts. The settings are declared by the packages that
// they are for; here they come together, so that whatever sets them, a command
// line, the environment or a pod's annotations, is held to the same rules.
//
// [Run] makes the parts, each from those before it; connects them by one table of who
// receives what the shipper sees; runs them; and drains them.
package sidecar
