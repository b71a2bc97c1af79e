// Package s3 is the sink that uploads sealed segments to an object store that speaks
// Amazon's S3 protocol.
//
//	s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION...
//
// # Layout
//
// A segment becomes one object, with the same bytes as on disk:
//
//	PREFIX/log/namespace=NS/pod=POD/container=JVM/stream=STREAM/date=YYYY-MM-DD/20261120T100000.000Z-000001.log.zst
//
// The names of the folders are partitions that Athena, DuckDB and ClickHouse read from a
// path. The date is that of the segment's creation, in UTC. A character that partitions
// cannot hold is written as %XX. A key consists of the segment's identity, and a sealed
// segment never changes. So an upload that is repeated after a crash replaces the object
// with the same bytes: each line is in the bucket once.
//
// The index objects of a day describe the segments, so that a question can be answered, or
// a segment skipped, without reading the segment:
//
//	PREFIX/index/namespace=NS/pod=POD/container=JVM/date=YYYY-MM-DD/20261120T100000.000Z.json
//
// See [Index] for their format. An index object is written after the segment but before the segment is
// acknowledged: after a kill in between, both uploads are repeated.
//
// # Integrity
//
// A request carries the CRC-32C of its bytes, and the server refuses other bytes. A segment that is larger than a
// part is uploaded in parts. The client library computes a checksum of each part: CRC-32C over TLS, otherwise
// SHA-256.
package s3
