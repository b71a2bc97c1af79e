// Package sink copies the durable segments to further destinations.
//
// A sink sends the segments to an engine: an object store, a collector, a broker. The segments
// remain the source of truth. A sink follows them with its own cursor, so that a slow, absent
// or faulty engine delays only its own copy, not a JVM, a commit or the reclaim. The package
// does not change the segments.
//
//   - s3, kafka, otlp, stdout: the engines
//   - address: the URL of a sink
//   - transport: the connections of engines, and their certificates
//
// # Parts
//
//	Set → worker → feed → segment
//	             → Sink (an engine: internal/sink/s3, ...)
//
// A [Set] holds the configured sinks. Each has a worker with its own goroutine. The worker
// takes a [Batch] from a feed, passes it to its [Sink], and moves the cursor once the engine
// has acknowledged the batch. There are two feeds: one cuts committed lines out of the
// segments, the other hands out whole segments once they are sealed.
//
// # Order and repetition
//
// The batches of one stream are delivered one at a time, in their order. A batch holds only
// committed bytes of one segment: a restart of the sidecar cuts off uncommitted bytes and may
// append different ones in their place. So the name of a segment and an offset among its raw
// bytes identify a line permanently. An engine that knows this identity can refuse a
// repetition.
//
// # Crash windows
//
//	deliver → acknowledged → save the cursor
//
// A kill between the last two repeats at most the batches of the last saveInterval,
// with the same identities. If the cursor cannot be read, it is lost, and the sink
// begins again with the oldest segment. A cursor never passes an unacknowledged line.
//
// # Retention
//
// A segment that a sink still needs is kept beyond --retain-age, but not beyond
// --retain-bytes. If it is deleted before a sink has all of it, that sink counts it as
// skipped.
//
// # Errors
//
// A worker repeats a failed delivery after a pause. The pause doubles up to a minute and has a
// jitter, unless the engine asks for another pause. A batch that the engine refuses because of
// its content would be refused each time: the worker adds it to the sink's list of refused
// lines, counts it, and continues after it. Its lines stay in the segments.
//
// Errors of a sink leave the pod ready: metrics, the status and alerts report them.
package sink
