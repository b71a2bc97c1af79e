// Package pause reads pauses from the lines of the JVM's Unified Logging (UL, -Xlog)
// and of the collector's log of JDK 8: how long the collector or a safepoint stopped
// the application, and whether a pause seems to have waited for something other than a
// CPU.
//
// [Parse] reads one line and keeps no state. It rules out most lines by the first bytes
// of their message, so it can be called for every line of a busy log. A [Joiner] joins
// the events of one stream into stops of the application, collections and runs of JVMs.
//
// # What is read
//
// Messages of these forms measure pauses. All are logged at level info. NAME and OP
// become [Event.Name]:
//
//	GC(n) Pause NAME 24M->5M(64M) 2.345ms         [Pause]
//	GC(n) Pause NAME 2.345ms                      [Pause]
//	GC(n) y: Pause NAME 2.345ms                   [Pause]; y, Y or O is the generation
//	GC(n) User=0.01s Sys=0.00s Real=0.02s         [CPU]
//	Safepoint "OP", Time since last: 5 ns, ...    [Safepoint]
//	Total time for which application threads were stopped: 0.0012345 seconds, Stopping threads took: 0.0000123 seconds
//	                                              [Safepoint] of JDK 8 to 12, without an operation
//
// All but the last form were found in logs of JDK 17.0.15 and 25.0.3, with every collector of these releases at level
// trace:
//
//	collector    Pause      CPU     names of pauses
//	Serial       gc         gc,cpu  Young (Allocation Failure), Full (System.gc())
//	Parallel     gc         gc,cpu  the same, and Full (Ergonomics) on 17
//	G1           gc         gc,cpu  Young (Normal) (G1 Evacuation Pause), Remark, Cleanup, Full (...)
//	ZGC          gc,phases  none    Mark Start, Mark End, Relocate Start; on 25 with a
//	                                generation, and Mark Start (Major)
//	Shenandoah   gc         none    Init Mark (unload classes), Final Mark (Young),
//	                                Init Update Refs, Degenerated GC (Mark), Full, ...
//	Epsilon      none       none
//
// Other forms describe the collection around the pauses. N is a number. SIZES is
// 24M->5M(64M), 24M(38%)->5M(8%), or the same in K:
//
//	GC(n) Concurrent NAME 12.345ms                [Concurrent]; Shenandoah's cleanup has SIZES
//	GC(n) Concurrent Mark Cycle                   [Begin]; also Undo Cycle, and Cycle until JDK 14
//	GC(n) Major Collection (CAUSE)                [Begin]; also Minor and Garbage Collection
//	GC(n) Major Collection (CAUSE) SIZES 0.030s   [Cycle]; without the seconds if ZGC has no generations
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
//	Failed to allocate Shared, 295K               [Failure] of Shenandoah; a thread waits for the memory
//	Cancelling GC: CAUSE                          [Cancel] of Shenandoah, also after GC(n)
//	Allocation Stall (THREAD) 5.811ms             [Stall]; also Relocation Stall
//	Entering safepoint region: OP                 [Enter] of JDK 9 to 12
//	NAME: VALUE                                   [Init], if the tags are gc,init
//	Using G1                                      [Init]; VALUE is one of HotSpot's collectors
//
// CMS (until JDK 13) prints the same lines as Parallel. Its pauses are called Initial Mark and Remark, and its
// concurrent phases also have a CPU line.
//
// # JDK 8
//
// The collector's log of JDK 8 and older (-Xloggc) has other forms, which become the same events and stops. After
// its stamps, a record has a whole pause in brackets:
//
//	STAMPS[GC (CAUSE) [PART: SIZES, N secs] SIZES, N secs] [Times: user=N sys=N, real=N secs]
//	STAMPS[Full GC (CAUSE) [PART: SIZES] [PART: SIZES] SIZES, [Metaspace: SIZES], N secs]
//	STAMPS[GC pause (CAUSE) (young), N secs]      of G1; also mixed, initial-mark, to-space exhausted
//	STAMPS[GC remark, N secs]                     of G1; also cleanup SIZES
//	STAMPS[GC (CMS Initial Mark) [1 CMS-initial-mark: N(N)] N(N), N secs]; also the remark
//	STAMPS[CMS-concurrent-mark: N/N secs]         and the other concurrent phases
//	STAMPS[GC concurrent-mark-end, N secs]        the same for G1
//	STAMPS Total time for which ...               [Safepoint], as above
//
// The pauses get the names of later releases: "Young (Mixed) (G1 Evacuation Pause)". A pause in which the old
// generation was collected is a full pause, no matter how its line begins. G1 logs sizes and CPU times in lines after
// the pause. A [Joiner] needs these continuations: see [Joiner.Continues]. Lines about ages and policies, and a record
// of another thread, may interrupt a record at any place. A pause is read if all its brackets are closed and only its
// CPU times or another record follow. Otherwise it is unread, and none of its numbers is used. The stamps show when
// the pause began. A Joiner numbers the collections itself.
//
// # Parts of a safepoint
//
// A safepoint's line may have any durations between the operation and Total, provided they
// include Reaching and At. They depend on the release:
//
//	JDK 17   Reaching safepoint, Cleanup, At safepoint, Total
//	JDK 21   Reaching safepoint, Cleanup, At safepoint, Leaving safepoint, Total
//	JDK 25   Reaching safepoint, At safepoint, Leaving safepoint, Total, then
//	         "Threads: 0 runnable, 12 total"
//
// (The forms of JDK 21, of 9 to 12 and of CMS are from published logs and HotSpot's source.) The parts add up to the
// total. The names of operations change from release to release, so nothing depends on them. The durations are not
// rounded: they have all of HotSpot's digits.
//
// # One event for each pause
//
// Each pause of a collector is one Pause event, read from the line at the end of the pause. The line that announces
// the pause (gc,start, or gc,phases,start) has no duration and is not an event of this kind. Nor is a phase of the
// pause, concurrent work, or a line of gc,stats. A collection has one Pause event for each of its pauses: exactly one
// with Serial and Parallel, and zero or more with the other collectors, all with the same number.
//
// Up to three events measure the same pause, so they must not be added up: the Pause, the CPU times right after it,
// and the Safepoint around it, which is a little longer and also covers operations other than a collection. (With CMS,
// CPU times may belong to a concurrent phase; their line does not show which.) One safepoint may hold two
// collections, Young and then Full. A [Joiner] combines them into one [Stop].
//
// If ZGC makes a thread wait for memory ("Allocation Stall (main) 5.811ms"), only that
// thread stops. This is not a pause of the application.
//
// # Ambiguities
//
// Package ul reads the decorations, some or all of which may be missing. If there are tags, the first must be gc or
// safepoint. A continuation line is never an event. Without tags, another logger's message is an event if it exactly
// matches a form, because the text does not show the difference.
//
// If a full disk cut a line and the next line is glued to it, the result is a real event or no event: no name has a
// square bracket or a second "GC(". With decorators "none", the end of another message may be mistaken for the end of
// a pause.
//
// A line does not prove who wrote it. Any process that can write to the file can write an
// event of any kind and length.
package pause
