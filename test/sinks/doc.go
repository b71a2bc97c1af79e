// Package sinks tests the sinks against real servers, which it builds or downloads into
// the cache, once for each version: versitygw, an S3 server that stores objects as plain
// files; a Collector that writes each OTLP request to a file; Kafka in KRaft mode, whose
// jars come from Maven. Faults come from the server (killed, stopped, full, another
// secret) and from a proxy or a wire in front of it (cut, slow, busy, lying).
//
// What a server of lines has is compared line by line with the segments, and these with
// what was written.
package sinks
