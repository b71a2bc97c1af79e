// Package queue is the bounded memory between the reader and the writer: a
// first-in, first-out ring of chunks of bytes, each with a value that
// describes it.
//
// [New] allocates all of its memory. The producer reads files straight into the
// queue (Reserve, Push), and the consumer writes files straight out of the queue
// (Peek, Release), so only the kernel copies bytes. A chunk is always contiguous.
// When the queue has no room, Reserve returns at once, and the producer waits for
// Space. Meanwhile the backlog stays in the source.
//
// A consumer may leave a few bytes in the queue until more have gathered, but not while the
// producer waits for room: a chunk that needs the whole ring waits for the last byte in it. So
// a Reserve that fails wakes the consumer, which takes chunks for as long as the producer is
// starved.
//
// A queue serves one producer and one consumer, which may run concurrently.
package queue
