// Package footprint estimates the most memory that a container with a JVM can take, judging by what
// its pod shows, and says what to write if that is more than the limit of the container. The
// injector warns according to the estimate, and the doctor shows it.
//
//	heap  +  tmpfs of the log  +  reserve  <  limit
//
// The kernel kills a container over its limit, and the log on the tmpfs counts towards it.
//
// The package imports nothing of the sidecar or of Kubernetes, so that the kubectl plugin can use
// it.
package footprint
