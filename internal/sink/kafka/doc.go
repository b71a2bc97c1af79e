// Package kafka is the sink that produces each line as a record of a Kafka topic.
//
//	kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC?tls=true&sasl=scram-sha-512
//
// The value of a record is the line. The key is NAMESPACE/POD/STREAM, so that a stream
// has one partition, and its order. Headers are level, stream, and uid, which is made of
// stream, segment and offset. A gap marker has further headers for its counts.
//
// # Exactly once
//
// Each chunk of a batch is one transaction: its records, and their reach, which is the place of
// the last one in its stream. The reach is a committed offset of a consumer group without
// members: the offset is that of the chunk's last line, and the metadata is its segment. The
// broker keeps both the records and the reach, or neither.
//
//	begin → records → reach → commit → the worker saves its cursor
//
// A group and a transactional id belong to a destination: a random name that is stored
// with its segments, see [sink.Identified]. So they survive the pod if the destination
// does, and a pod of the same name with an empty destination has different ones.
//
// # Crash windows
//
//   - Before the commit: the transaction stays open. The next session has the same
//     transactional id; the broker aborts an open transaction of an earlier session before
//     it accepts the new one. Readers of committed records never see those lines.
//   - At the commit, without an answer: the broker has committed, or has not. The next
//     session asks for the reach of a stream before it sends a line of it.
//   - Between the commit and the worker's cursor: the worker delivers the lines again.
//     They are not beyond the reach, and are not sent.
//   - The worker's cursor is lost: the worker delivers all lines again, with the same result.
//   - The broker's record of the reach is lost (a broker forgets a group a week after
//     its last commit): the worker's cursor is used, which is late by a second at
//     most.
//   - The destination is copied, or restored from a snapshot: segments that were created
//     since then have later times in their names, and are sent. See [reach.has].
//   - Another process uses the same destination, because it has lost its lock without
//     noticing: the broker fences one of the two at each start of a session, and each
//     session begins with the reach. Both send the same segments.
//
// Every error ends the session. So there is one way to recover, which is also how a
// process starts.
//
// # Without transactions
//
// A broker may deny transactions. Then an idempotent producer sends the records once, and
// records that a crash repeats come again with the same uid. The sink reports this as a
// [sink.Noter]. It tries transactions again from time to time.
//
// # Protocol versions
//
// The sink uses at most the versions of Kafka 3.9, in which a client adds a group to its
// transaction by a request. With the later protocol, a broker can detect a late request of an
// earlier transaction. The sink needs no such check: in a session, no transaction follows a
// failed one.
package kafka
