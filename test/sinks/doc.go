// Package sinks tests the sinks against real servers, which it builds from Go modules
// into the cache, once for each version: versitygw, an S3 server that stores objects as
// plain files; and Kafka in KRaft mode, whose jars come from Maven. Faults come from the
// server (killed, stopped, full, another secret) and from a proxy or a wire in front of it
// (cut, slow, busy, lying).
package sinks
