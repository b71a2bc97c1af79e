// Package opensearch is the sink that indexes lines in OpenSearch or Elasticsearch, by
// the bulk API.
//
//	opensearch+https://HOST/DATA-STREAM-OR-INDEX
//
// # Once
//
// A line becomes a document that is created, never replaced, under an id made of its
// identity across all pods. A repetition is answered with 409, which counts as
// acknowledged: so each line is there once. An id is unique within one index: after the
// rollover of a data stream, a line that is repeated is a new document in the new index.
// Only what is repeated just then is affected: what the sink has sent since its cursor was
// saved last, or a request whose answer was lost.
//
// # Answers
//
// The server answers for each document. The sink keeps what a request left open (429, or
// a server error) until the next try of the same batch, and sends only those again: so
// the others are not counted on to be recognized. A document that is refused for what it
// is (400, as for a field of another type) is set aside.
package opensearch
