// Package sinks tests the sinks against real servers, which it builds or downloads into the cache, once for each
// version: versitygw, an S3 server that stores objects as plain files; a Collector that writes each OTLP request to a
// file; Kafka in KRaft mode, whose jars come from Maven. The server causes some of the faults: it is killed, stopped
// or full, or gets another secret. A proxy or a wire in front of it causes the others: it cuts connections, is slow
// or busy, or acknowledges lines that it discards.
//
// The tests compare the lines at a server with the segments one by one, and the segments with the written
// lines.
package sinks
