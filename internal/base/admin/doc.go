// Package admin is the sidecar's one HTTP listener: metrics for a scraper,
// probes for a kubelet, and a status for a person.
//
//	/metrics  every metric of the injected registry, in the text formats
//	/healthz  200 while the process runs
//	/readyz   200, or 503 and the reason on one line
//	/status   a [Status] as JSON
//	/recent   a [Recent] as JSON: the last pauses and gaps
//	/         a page for a browser, which refreshes itself; for other clients an index
//
// The sidecar assembles a Status: each of its parts fills in its own fields, with counts from its
// own metrics (see [SamplesOf]).
//
// The injector serves the same paths, except /recent and the page.
//
// The listener is open to the pod's network, so it serves only read-only data. The only log content
// that it serves are the kinds of pauses, and an excerpt of the line that fired a trigger. Its use
// of memory and descriptors is bounded, whatever the number of clients: at most
// [Config].Connections connections are open; at most four requests for metrics, by far the largest
// answer, are served at a time; and header, request, answer and idle connection each have a
// deadline. At the limit, a new connection closes the longest idle one, so a client that holds
// connections cannot lock out a probe. There is no profiler and no handler on a default mux.
//
// The page is self-contained: its Content-Security-Policy forbids loading scripts, styles or
// images from any server. While the page is visible, it requests /status and /recent, one after
// the other, over one connection.
//
// The handlers call the functions of [Answers] at any time, and concurrently. These functions
// must not wait for a disk: a probe that waits fails, and stalled disks are what the sidecar is
// made for.
//
// A process that reads the durable copy does not need to know a port: it derives the address from
// the copy. See [Server.ListenAt] and [Client].
//
// Only [Server.Run] and [Server.ListenAt] start goroutines, and Run waits for all of them.
package admin
