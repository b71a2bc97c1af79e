// Package ring takes events out of ring files and turns them into lines.
//
// A JVM with the library in java/ writes its events into a ring: a file on the
// source, mapped into memory. This package reads each ring every few milliseconds
// and appends its events as lines to a text, an ordinary file in the source that
// package tail follows like every log. From there on an event is a line like any
// other: backlog, pressure, spool, checkpoint and sinks apply to it unchanged.
//
// # Files
//
//	SOURCE/events-PID-MS.ring             the ring; the JVM creates it
//	SOURCE/events-PID-MS.log              the text; the stream is events-PID.log
//	SOURCE/.ullage/events-PID-MS.journal  how far the ring was taken out
//
// The layout of a ring is in layout.go. The golden ring in testdata, which the
// Java side writes, keeps both sides together.
//
// # Exactly once
//
// A drain takes a ring out in steps. In each one the order is
//
//	journal  which bytes of the ring become which bytes of the text
//	append   ... which are written then
//	zero     the ring's bytes are given back as zeros
//	head     ... and the JVM may claim them again
//
// What a step writes into the text depends on nothing but the ring's bytes and
// the journal's entry, and nobody changes these bytes before the head moves. So
// the next process that finds an entry whose text is shorter than the entry says
// renders the same bytes again, writes those that are missing, and goes on. The
// text never has a byte that a later start takes back, so that tail may read it at
// any moment. While a drain lives it has its text open for writing. It opens the
// text before tail's first scan, so that tail never takes a line that a kill has cut
// off for the last one.
//
// Zeros have two uses. A free word is zero, so that a message whose bytes look like
// a record cannot be taken for one when the ring comes round. And a claim whose
// thread was killed before it stored its length is a run of zeros, which ends at
// the next word.
//
// # Claims
//
// A record is claimed before it is complete. A drain waits at a claim: the thread
// may be preempted, at a safepoint, or in a debugger. It passes over a claim only when
// the JVM is gone. The log call of such a claim has never returned. Whether the JVM is
// gone, the kernel knows: it grants a read lease on a file that nobody has open or mapped for
// writing.
//
// If a ring is full behind one claim for ten seconds, or has bytes that no writer
// writes, the drain abandons it: it flags the ring, and the JVM goes on in another
// one. Nothing of an abandoned ring is ever given back, so that a late
// thread harms nothing. What such threads complete is read when the JVM no longer
// maps the ring.
//
// # Untrusted input
//
// Any process that can write to the source can write a ring. A drain never maps a ring: it
// copies and then checks the copy, so that a ring that is truncated is a short read
// and no signal. Numbers are compared with the size of the file. Control characters in
// messages are escaped, so that no event makes a second line, and further lines of a record
// cannot begin like a line of their own. Lines of an application's own layout are the exception: they
// are as they came, as in a file that the application writes.
//
// A [Rings] starts no goroutine: its owner calls Run in one.
package ring
