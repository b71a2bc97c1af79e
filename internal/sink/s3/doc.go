// Package s3 is the sink that uploads sealed segments to an object store that speaks
// Amazon's S3 protocol.
//
//	s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION...
//
// # Layout
//
// A segment becomes one object, with the bytes that it has on disk:
//
//	PREFIX/log/namespace=NS/pod=POD/container=JVM/stream=STREAM/date=YYYY-MM-DD/20261120T100000.000Z-000001.log.zst
//
// The names of the folders are partitions as Athena, DuckDB and ClickHouse read them
// from a path. The date is that of the segment's creation, UTC. A character that
// partitions cannot hold is written as %XX. A key is made of the segment's identity, and
// a sealed segment never changes. So an upload that is repeated after a crash replaces
// an object by the same bytes: each line is in the bucket once.
//
// The index objects of a day say what the segments hold, so that a question can be
// answered, or a segment skipped, without reading it:
//
//	PREFIX/index/namespace=NS/pod=POD/container=JVM/date=YYYY-MM-DD/20261120T100000.000Z.json
//
// See [Index] for its format. It is written after the segment, and before the segment
// counts as acknowledged: a kill in between repeats both.
//
// # Integrity
//
// A request carries the CRC-32C of what it uploads, and the server refuses other bytes.
// A segment above the size of a part is uploaded in parts. The client library sums up
// each part: with CRC-32C over TLS, else with SHA-256.
package s3
