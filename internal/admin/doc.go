// Package admin is the sidecar's one HTTP listener: metrics for a scraper,
// probes for a kubelet, and a status for a person.
//
//	/metrics  every metric of the injected registry, in the text formats
//	/healthz  200 while the process lives
//	/readyz   200, or 503 and the reason on one line
//	/status   a [Status] as JSON
//	/         an index of the above
//
// The listener is open to the pod's network, so what it serves is read-only
// and holds no content of any log, and clients cost a bounded amount of
// memory and descriptors, however many there are: at most
// [Config].Connections are open, at most four of them are answered with metrics, which are the
// largest answer by far, and header, request, answer and idle connection each
// have a deadline. Whoever holds connections locks nobody out, since the idlest
// is closed for a newcomer. There is no profiler and no handler on a default
// mux.
//
// A [Check] and a status function are called from the handlers, at any time
// and more than once at a time. They must not wait for a disk: a probe that
// waits is a probe that fails, and the sidecar exists for stalled disks.
//
// [Server.Run] is the only place that starts goroutines; it waits for all of
// them.
package admin
