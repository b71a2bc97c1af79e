// Package sidecar is what `ullage run` is: every setting that it can be told,
// and the wiring of its parts. The settings are declared by the packages that
// they are for; here they come together, so that whatever sets them, a command
// line, the environment or a pod's annotations, is held to the same rules.
package sidecar
