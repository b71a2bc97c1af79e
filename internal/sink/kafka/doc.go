// Package kafka is the sink that produces each line as a record of a Kafka topic.
//
//	kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC?tls=true&sasl=scram-sha-512
//
// The value of a record is the line. The key is NAMESPACE/POD/STREAM, so that all lines of
// a stream are in one partition and stay in order. The headers are level, stream, and uid,
// which consists of stream, segment and offset. A gap marker has further headers for its
// counts.
//
// # Exactly once
//
// Each chunk of a batch is one transaction. It contains the records of the chunk and the
// reach, which is the position of the last of these records in the stream. The reach is a
// committed offset of a consumer group without members: the offset is that of the chunk's
// last line, and the metadata names the segment of that line. The broker keeps both the
// records and the reach, or neither.
//
//	begin → records → reach → commit → the worker saves its cursor
//
// The names of the groups and of the transactional id contain a random name, which is stored in the
// destination with the segments, see [sink.Identified]. So these names survive the pod if the
// destination does, and a pod of the same name with an empty destination has different names.
//
// # Crash windows
//
//   - Before the commit: the transaction stays open. The next session has the same
//     transactional id; the broker aborts an open transaction of an earlier session before
//     it accepts the new one. Readers of committed records never see those lines.
//   - At the commit, without an answer: the broker may or may not have committed. The next
//     session asks for the reach of a stream before it sends a line of that stream.
//   - After the commit, before the worker saves its cursor: the worker delivers the lines
//     again. The sink does not send them, because the reach includes them.
//   - The worker's cursor is lost: the worker delivers all lines again, and the sink does not
//     send them.
//   - The broker's record of the reach is lost (a broker forgets a group a week after
//     its last commit): the worker's cursor is used instead. It lags by at most a second.
//   - The destination is copied, or restored from a snapshot: segments that are created
//     afterwards have later times in their names, so the sink sends them. See [reach.has].
//   - Two processes use the same destination, because one has lost its lock without
//     noticing: when one of the two begins a session, the broker fences the other. Each
//     session asks for the reach before it sends. Both processes send the same segments.
//
// Every error ends the session. So there is one way to recover, which is also how a
// process starts.
//
// # Without transactions
//
// A broker may deny transactions. Then an idempotent producer sends each record once, but
// after a crash records may be sent again, with the same uid. The sink reports this as a
// [sink.Noter]. It tries transactions again from time to time.
//
// # Protocol versions
//
// The sink uses at most the protocol versions of Kafka 3.9, in which a client sends a request to
// add a group to its transaction. With the later protocol, a broker can detect a late request of an
// earlier transaction. The sink needs no such check: in a session, no transaction follows a
// failed one.
package kafka
