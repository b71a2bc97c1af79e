// Package sinks tests the sinks against real servers, which it builds or downloads into the cache, once for each
// version: versitygw, an S3 server that stores objects as plain files; a Collector that writes each OTLP request to a
// file; Kafka in KRaft mode, whose jars come from Maven. Faults come from the server, which is killed, stopped or
// full or gets another secret, and from a proxy or a wire in front of it, which cuts connections, is slow or busy, or
// lies.
//
// The lines at a server are compared with the segments one by one, and the segments with the written lines.
package sinks
