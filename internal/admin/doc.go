// Package admin is the sidecar's one HTTP listener: metrics for a scraper,
// probes for a kubelet, and a status for a person.
//
//	/metrics  every metric of the injected registry, in the text formats
//	/healthz  200 while the process runs
//	/readyz   200, or 503 and the reason on one line
//	/status   a [Status] as JSON
//	/         an index of the above
//
// The listener is open to the pod's network, so it serves read-only data without
// the content of any log. The number of clients does not change its use of memory
// and descriptors: at most [Config].Connections are open, at most four requests for
// metrics, by far the largest answer, are served at a time, and header, request,
// answer and idle connection each have a deadline. At the limit, a new connection
// closes the one that has been idle longest, so a client that holds connections
// cannot lock out a probe. There is no profiler and no handler on a default mux.
//
// The handlers call a [Check] and a status function at any time, and concurrently.
// These functions must not wait for a disk: a probe that waits is a probe that
// fails, and the sidecar exists for stalled disks.
//
// Only [Server.Run] starts goroutines, and it waits for all of them.
package admin
