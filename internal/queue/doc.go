// Package queue is the bounded memory between the reader and the writer: a
// first-in, first-out ring of chunks of bytes, each with a value that
// describes it.
//
// Its memory is taken once, by [New]. The producer reads files straight into
// it (Reserve, Push) and the consumer writes files straight out of it (Peek,
// Release), so that a byte is copied by the kernel only. A chunk is always
// contiguous. When there is no room, Reserve says so at once and the producer
// waits for Space: the backlog then stays where it is.
//
// A queue serves one producer and one consumer, which may run concurrently.
package queue
