// Package pause reads pauses out of the lines of the JVM's Unified Logging (UL,
// -Xlog), and of the collector's log of JDK 8: how long the collector or a safepoint stopped the application, and
// whether a pause seems to have waited for something other than a CPU.
//
// [Parse] reads one line and remembers nothing. Most lines are ruled out by the first
// bytes of their message, so that it can be called for every line of a busy log. A
// [Joiner] joins the events of one stream to stops of the application, collections and
// runs of JVMs.
//
// # What is read
//
// Four forms of message that measure pauses, all of them logged at level info. NAME and
// OP become [Event.Name]:
//
//	GC(n) Pause NAME 24M->5M(64M) 2.345ms         [Pause]
//	GC(n) Pause NAME 2.345ms                      [Pause]
//	GC(n) y: Pause NAME 2.345ms                   [Pause]; y, Y or O is the generation
//	GC(n) User=0.01s Sys=0.00s Real=0.02s         [CPU]
//	Safepoint "OP", Time since last: 5 ns, ...    [Safepoint]
//	Total time for which application threads were stopped: 0.0012345 seconds, Stopping threads took: 0.0000123 seconds
//	                                              [Safepoint] of JDK 8 to 12, without an operation
//
// They are from logs of JDK 17.0.15 and 25.0.3, with every collector of these at
// level trace:
//
//	collector    Pause      CPU     pauses are called
//	Serial       gc         gc,cpu  Young (Allocation Failure), Full (System.gc())
//	Parallel     gc         gc,cpu  the same, and Full (Ergonomics) on 17
//	G1           gc         gc,cpu  Young (Normal) (G1 Evacuation Pause), Remark, Cleanup, Full (...)
//	ZGC          gc,phases  none    Mark Start, Mark End, Relocate Start; on 25 with a
//	                                generation, and Mark Start (Major)
//	Shenandoah   gc         none    Init Mark (unload classes), Final Mark (Young),
//	                                Init Update Refs, Degenerated GC (Mark), Full, ...
//	Epsilon      none       none
//
// Further forms describe the collection around them. N is a number, SIZES is
// 24M->5M(64M), 24M(38%)->5M(8%), or the same in K:
//
//	GC(n) Concurrent NAME 12.345ms                [Concurrent]; of Shenandoah's cleanup with SIZES
//	GC(n) Concurrent Mark Cycle                   [Begin]; also Undo Cycle, and Cycle until JDK 14
//	GC(n) Major Collection (CAUSE)                [Begin]; also Minor and Garbage Collection
//	GC(n) Major Collection (CAUSE) SIZES 0.030s   [Cycle]; without the seconds where ZGC has no generations
//	GC(n) Y: Young Generation SIZES 0.011s        [Cycle]; also O: Old Generation
//	GC(n) Old regions: N->N                       [Space]; also Eden, Survivor, Archive and Humongous
//	GC(n) DefNew: SIZES ...                       [Space]; also Tenured, PSYoungGen, ParOldGen, PSOldGen, ParNew, CMS
//	GC(n)   Live:  -  3M (5%) 3M (5%) ...         [Space]; also Capacity, Allocated and Promoted (ZGC)
//	GC(n) Metaspace: SIZES ...                    [Metaspace]
//	GC(n)   Evacuate Collection Set: 1.2ms        [Phase] of G1; deeper phases have more spaces
//	GC(n) Phase 1: Mark live objects 2.9ms        [Phase] of a full collection; also Marking Phase, ...
//	GC(n) Using N workers of N for ...            [Workers]
//	GC(n) Metaspace: 0M used, 0M committed, ...   [Metaspace] of ZGC
//	GC(n) To-space exhausted                      [Failure]; also Promotion failed, and Concurrent mode failure (CMS)
//	Failed to allocate Shared, 295K               [Failure] of Shenandoah, which a thread waits for
//	Cancelling GC: CAUSE                          [Cancel] of Shenandoah, also after GC(n)
//	Allocation Stall (THREAD) 5.811ms             [Stall]; also Relocation Stall
//	Entering safepoint region: OP                 [Enter] of JDK 9 to 12
//	NAME: VALUE                                   [Init], where the tags are gc,init
//	Using G1                                      [Init]; VALUE is one of HotSpot's collectors
//
// CMS (until JDK 13) prints as Parallel does, and its pauses are called Initial
// Mark and Remark; but CPU comes after its concurrent phases too.
//
// # JDK 8
//
// The collector's log of JDK 8 and older (-Xloggc) has other forms. It gives the same events and
// the same stops. A record has all of a pause in brackets, with its stamps before it:
//
//	STAMPS[GC (CAUSE) [PART: SIZES, N secs] SIZES, N secs] [Times: user=N sys=N, real=N secs]
//	STAMPS[Full GC (CAUSE) [PART: SIZES] [PART: SIZES] SIZES, [Metaspace: SIZES], N secs]
//	STAMPS[GC pause (CAUSE) (young), N secs]      of G1; also mixed, initial-mark, to-space exhausted
//	STAMPS[GC remark, N secs]                     of G1; also cleanup SIZES
//	STAMPS[GC (CMS Initial Mark) [1 CMS-initial-mark: N(N)] N(N), N secs]; also the remark
//	STAMPS[CMS-concurrent-mark: N/N secs]         and the other concurrent phases
//	STAMPS[GC concurrent-mark-end, N secs]        the same of G1
//	STAMPS Total time for which ...               [Safepoint], as above
//
// These are given the names of later releases: "Young (Mixed) (G1 Evacuation Pause)". A pause in which the old
// generation was collected is a full one, whatever its line begins with. Sizes and CPU times of G1 are in lines after
// the pause, and a [Joiner] needs these continuations, see [Joiner.Continues]. A record may be broken by lines about
// ages and policies, and by a record of another thread, at any place. A pause is read if all its brackets are closed and
// only its CPU times or another record follow; otherwise it is unread, and none of its numbers is used. The stamps are
// those of the beginning of a pause. A Joiner numbers the collections by itself.
//
// # Parts of a safepoint
//
// What follows the operation in a safepoint's line, up to Total, may be any list of
// durations that has Reaching and At. It differs:
//
//	JDK 17   Reaching safepoint, Cleanup, At safepoint, Total
//	JDK 21   Reaching safepoint, Cleanup, At safepoint, Leaving safepoint, Total
//	JDK 25   Reaching safepoint, At safepoint, Leaving safepoint, Total, then
//	         "Threads: 0 runnable, 12 total"
//
// (JDK 21, 9 to 12 and CMS from others' published logs and HotSpot's source.) The parts add up to the total. The names
// and their wording change from release to release, so that nothing depends on
// them. The durations are exact: HotSpot's digits, without any rounding.
//
// # Which line counts
//
// Each pause of a collector is one Pause event, on the line that it ends with. The
// line that announces it (gc,start, or gc,phases,start) has no duration and is
// no event, nor is any phase within it, concurrent work, or a line of gc,stats.
// A collection has as many Pause events as it had pauses: one in Serial and
// Parallel; none to several in the others, all with the same number.
//
// Up to three events measure the same pause, so they must not be added up: the
// Pause, its CPU times right after it (of CMS, some are of a concurrent phase, which
// no line alone tells), and the Safepoint around it, which is a little longer and
// which also covers operations other than a collection. One safepoint may hold two
// collections, Young and then Full. A [Joiner] makes one [Stop] of them.
//
// A thread that ZGC makes wait for memory ("Allocation Stall (main) 5.811ms") stops
// alone. That is not a pause of the application.
//
// # Ambiguities
//
// The decorations are read as package ul does; any of them may be missing, also all.
// Where tags are shown, the first of them must be gc, or safepoint, and a
// continuation line is never an event. Without tags, a message of another logger that
// has exactly one of the forms is an event: nothing in its text is different.
//
// A line that a full disk cut, and that another one is glued to, gives an event that
// happened or none: no name has a square bracket or a second "GC(" in it. With
// decorators "none", the end of another message may be taken for that of a pause.
//
// Bytes prove nothing about their author. Any process that can write to the
// file can write an event of any kind and length.
package pause
