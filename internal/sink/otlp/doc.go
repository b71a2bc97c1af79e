// Package otlp is the sink that sends lines as log records by OTLP/HTTP, the protocol of
// OpenTelemetry, as protobuf and compressed with gzip.
//
//	otlp+https://HOST/v1/logs
//
// # Records
//
// A line becomes one record. Its body is the line without its decorations, whose content is in
// the record's time, severity and attributes. A protobuf string is UTF-8: each run of other
// bytes becomes U+FFFD. A record's attribute log.record.uid is the line's identity across all
// pods, so that an engine can find records that it received twice.
//
// # Answers
//
// A server that refuses a request because of its content (400, 413, 422) has stored no part of
// it. The sink sends each half separately, and so on, until it has found the refused lines or
// has made maxRequests requests. A server that stores only a part of a request (200 with a
// partial success) returns only the number of refused records, which the sink counts. After
// every other answer the delivery is repeated, even after 401, 403 and 404, which indicate a
// mistake in a configuration.
package otlp
