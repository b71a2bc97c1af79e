// Package ring takes events out of ring files and turns them into lines.
//
// A JVM with the library in java/ writes its events into a ring: a file in the source that
// is mapped into memory. This package reads each ring every few milliseconds and appends
// its events as lines to a text. A text is an ordinary file in the source, which package
// tail follows like every log. After that, an event is a line like any other: backlog,
// pressure, spool, checkpoint and sinks treat it in the same way.
//
// # Files
//
//	SOURCE/events-PID-MS.ring             the ring; the JVM creates it
//	SOURCE/events-PID-MS.log              the text; the stream is events-PID.log
//	SOURCE/.ullage/events-PID-MS.journal  how far the ring has been drained
//
// The layout of a ring is in layout.go. The golden ring in testdata, which the Java side
// writes, keeps the two sides consistent.
//
// # Exactly once
//
// A drain takes events out of a ring in steps. The order of each step is:
//
//	journal  which bytes of the ring become which bytes of the text
//	append   ... which are written then
//	zero     the ring's bytes are returned as zeros
//	head     ... and the JVM may claim them again
//
// The lines of a step depend only on the ring's bytes and the journal's entry, and no
// process changes these bytes before the lines are in the text. So if the next process finds a text
// that is shorter than its entry requires, it renders the same bytes again, writes the
// missing ones, and continues. No later start removes a byte from the text, so tail may
// read it at any moment. While a drain exists, it has its text open for writing. It opens
// the text before tail's first scan, so that tail never mistakes a line cut off by a kill
// for the last line.
//
// Zeros have two uses. A free word is zero, so that a message whose bytes look like a
// record cannot be mistaken for one when the ring wraps around. And a claim whose thread
// was killed before it stored its length is a run of zeros, which ends at the next word.
//
// # Claims
//
// A record is claimed before it is complete. A drain waits at a claim: the thread may be preempted, at a safepoint, or
// in a debugger. Except in an abandoned ring, the drain skips a claim only when the JVM is gone. The log call that made
// such a claim never returned. The kernel knows whether the JVM is gone: it grants a read lease on a file that no
// process has open or mapped for writing.
//
// If one claim blocks a full ring for ten seconds, or the ring has bytes that no writer writes,
// the drain abandons it: it sets a flag in the ring, and the JVM continues in another one.
// No byte of an abandoned ring is ever returned to the JVM, so that a late thread does no
// harm. Records that late threads complete are read when the JVM no longer maps the ring.
//
// # Memory order
//
// The two sides share pages and no lock. The JVM's loads and stores are those of Ring.java. They use VarHandles, whose
// modes the Java memory model defines for threads; JVMs emit the same instructions for memory that another process
// maps. The kernel does the sidecar's loads and stores, in pread and pwrite. They are plain, and of at least 8 aligned
// bytes at a time. A processor with a weak memory order, such as arm64, may reorder all of them, with the following
// exceptions. For arm64, the exceptions are reasoned, not tested: jcstress (make java-stress) tests only the JVM's
// half, on the machine it runs on.
//
//		JVM                                     sidecar
//		H  head, getAcquire; complement         T  pread: tail, counters
//		C  tail, compare and set, plain         A  pread: words and bytes
//		W  word = claimed, setOpaque            B  pread: the same again
//		   storeStoreFence                      Z  pwrite: zeros
//		P  time, id, payload, plain             G  pwrite: head and complement
//		D  word = complete, setRelease
//
//	  - No word is complete before its bytes. D is a release (stlr), so that W and P precede it for each
//	    observer that reads D's value and then P. The sidecar reads D in A and P in B. Between the two it branches
//	    on the word. Then it enters the kernel: a branch and then a context synchronization order a load before
//	    later loads, which a branch alone would not. The payload that A read is discarded. B cannot find
//	    a different word than A: only the sidecar lets the JVM write there again.
//	  - No byte is visible before its claim. The fence (dmb ishst) orders W before P. So a thread that is
//	    killed between any two of its stores leaves either zeros, or bytes after a W that has their length. A
//	    search for the next word never begins inside the bytes of a message.
//	  - The tail publishes nothing. Compare and set is atomic in every mode, so no two threads claim the same bytes. If T
//	    sees C before W, the word is zero, and reading waits. If W is visible before C, the sidecar does not read W: it reads
//	    only up to the tail. The counters of refusals are of the same kind: each is a number that only grows.
//	  - No claim is written over bytes that were not zeroed. Z and G take and release the lock of the inode. A release and then
//	    an acquire by the same processor order the stores before the release and after the acquire, so
//	    that Z precedes G. H is an acquire (ldar), and W comes after it, so for each of these bytes Z is the older
//	    store, and W stays. A thread that takes the head from another thread's field reads a volatile field. It thereby
//	    acquires what that thread had acquired: arm64 is multi-copy atomic.
//	  - A head is whole. The kernel may store head and complement in either order. H takes both or keeps
//	    the older head. The older head is smaller, so events are merely refused earlier.
//	  - A word is whole. It is at a multiple of 8, where a load or store of 8 bytes is one access. If a kernel
//	    ever copied less at a time, the check in the word would not match, and the next look would decide.
//	  - Rules for loggers are whole. The word at raisedAt names their generation and is written after them, and the
//	    JVM reads them after it (acquireFence). If the two writes became visible in another order, the generation or the check
//	    would not match: then nothing is raised, and the next log call looks again.
//	  - A template is visible before the record that names it: its text, then its length (releaseFence), are stored
//	    before D, by the logging thread or by a thread that has published the template's number to it. The sidecar
//	    reads the template after B.
//
// # Untrusted input
//
// Any process that can write to the source can write a ring. A drain never maps a ring: it
// copies, and then checks the copy, so that a truncated ring results in a short read instead of
// a signal. Numbers are compared with the size of the file. Control characters in messages are
// escaped, so that no event makes a second line, and further lines of a record cannot look like
// the beginning of a record. Lines in an application's own layout are the exception: they stay
// unchanged, as in a file that the application writes.
//
// A [Rings] starts no goroutine: its owner calls Run in one.
package ring
