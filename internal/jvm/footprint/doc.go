// Package footprint estimates the most memory that a container with a JVM can take, judging by what
// its pod shows. If the estimate exceeds the container's limit, the package says what to write instead.
// The injector uses the estimate for its warnings, and the doctor shows it.
//
//	heap  +  tmpfs of the log  +  reserve  <  limit
//
// The kernel kills a container over its limit, and the log on the tmpfs counts towards it.
//
// The package imports no part of the sidecar or of Kubernetes, so that the kubectl plugin can use
// it.
package footprint
