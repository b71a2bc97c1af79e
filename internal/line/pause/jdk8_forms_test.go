package pause

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// oldForm is a log as one set of JDK 8's options produces it. As in jdk8_test.go, the lines are written by hand.
type oldForm struct{ name, log, want string }

// oldForms have the text that the options add between lines or in the middle of a line.
var oldForms = []oldForm{
	{"ParNew with PrintTenuringDistribution and PrintReferenceGC, dates alone", `2026-03-01T10:00:01.000+0100: [GC (Allocation Failure) 2026-03-01T10:00:01.000+0100: [ParNew2026-03-01T10:00:01.008+0100: [SoftReference, 0 refs, 0.0000188 secs]2026-03-01T10:00:01.008+0100: [WeakReference, 28 refs, 0.0000173 secs]2026-03-01T10:00:01.008+0100: [FinalReference, 964 refs, 0.0009240 secs]2026-03-01T10:00:01.009+0100: [PhantomReference, 0 refs, 2 refs, 0.0000052 secs]2026-03-01T10:00:01.009+0100: [JNI Weak Reference, 0.0000039 secs]
Desired survivor size 524288 bytes, new threshold 1 (max 6)
- age   1:     104858 bytes,     104858 total
- age   2:      52429 bytes,     157287 total
: 8192K->1000K(9216K), 0.0100000 secs] 18432K->11300K(29696K), 0.0101000 secs] [Times: user=0.02 sys=0.00, real=0.01 secs]
2026-03-01T10:00:01.011+0100: Total time for which application threads were stopped: 0.0104000 seconds, Stopping threads took: 0.0000200 seconds
`, `young, Allocation Failure, 10.1ms, 18432K->11300K(29696K), cpu 20ms real 10ms, ends 0s
  stop 10.4ms, 1 pauses
`},
	{"CMS with PrintHeapAtGC and a collection before the remark", `{Heap before GC invocations=4 (full 1):
 par new generation   total 9216K, used 8192K [0x00000000fe000000, 0x00000000fea00000, 0x00000000fea00000)
  eden space 8192K, 100% used [0x00000000fe000000, 0x00000000fe800000, 0x00000000fe800000)
  from space 1024K,   0% used [0x00000000fe900000, 0x00000000fe900000, 0x00000000fea00000)
  to   space 1024K,   0% used [0x00000000fe800000, 0x00000000fe800000, 0x00000000fe900000)
 concurrent mark-sweep generation total 20480K, used 10240K [0x00000000fea00000, 0x00000000ffe00000, 0x0000000100000000)
 Metaspace       used 3000K, capacity 4500K, committed 4864K, reserved 1056768K
  class space    used 300K, capacity 400K, committed 512K, reserved 1048576K
1.000: [GC (Allocation Failure) 1.000: [ParNew: 8192K->1000K(9216K), 0.0040000 secs] 18432K->11300K(29696K), 0.0045000 secs] [Times: user=0.01 sys=0.00, real=0.00 secs]
Heap after GC invocations=5 (full 1):
 par new generation   total 9216K, used 1000K [0x00000000fe000000, 0x00000000fea00000, 0x00000000fea00000)
  eden space 8192K,   0% used [0x00000000fe000000, 0x00000000fe000000, 0x00000000fe800000)
 concurrent mark-sweep generation total 20480K, used 10300K [0x00000000fea00000, 0x00000000ffe00000, 0x0000000100000000)
}
1.005: Total time for which application threads were stopped: 0.0048000 seconds, Stopping threads took: 0.0000300 seconds
2.000: [GC (CMS Final Remark) [YG occupancy: 4110 K (9216 K)]{Heap before GC invocations=5 (full 2):
 par new generation   total 9216K, used 4110K [0x00000000fe000000, 0x00000000fea00000, 0x00000000fea00000)
}
2.001: [GC (CMS Final Remark) 2.001: [ParNew: 4110K->500K(9216K), 0.0030000 secs] 14410K->11100K(29696K), 0.0031000 secs] [Times: user=0.01 sys=0.00, real=0.00 secs]
Heap after GC invocations=6 (full 2):
 par new generation   total 9216K, used 500K [0x00000000fe000000, 0x00000000fea00000, 0x00000000fea00000)
}
2.004: [Rescan (parallel) , 0.0010000 secs]2.005: [weak refs processing, 0.0000278 secs]2.005: [class unloading, 0.0013772 secs]2.006: [scrub symbol table, 0.0015223 secs]2.008: [scrub string table, 0.0002215 secs][1 CMS-remark: 10600K(20480K)] 11100K(29696K), 0.0085000 secs] [Times: user=0.02 sys=0.00, real=0.01 secs]
2.009: Total time for which application threads were stopped: 0.0088000 seconds, Stopping threads took: 0.0000300 seconds
`, `young, Allocation Failure, 4.5ms, 18432K->11300K(29696K), cpu 10ms real 0s, ends 1.0045s
  stop 4.8ms, 1 pauses
remark, none, 8.5ms, 11100K->11100K(29696K), cpu 20ms real 10ms, ends 2.0085s
  stop 8.8ms, 1 pauses
`},
	{"a concurrent mode failure amid a concurrent phase, with PrintReferenceGC", `2026-03-01T10:00:05.000+0100: 5.000: [GC (Allocation Failure) 2026-03-01T10:00:05.000+0100: 5.000: [ParNew (promotion failed): 9000K->9100K(9216K), 0.0500000 secs]2026-03-01T10:00:05.050+0100: 5.050: [CMS2026-03-01T10:00:05.200+0100: 5.200: [CMS-concurrent-abortable-preclean: 0.300/0.450 secs] [Times: user=0.60 sys=0.10, real=0.45 secs]
 (concurrent mode failure)2026-03-01T10:00:05.900+0100: 5.900: [SoftReference, 614 refs, 0.0001950 secs]2026-03-01T10:00:05.900+0100: 5.900: [WeakReference, 1325 refs, 0.0018480 secs]2026-03-01T10:00:05.902+0100: 5.902: [FinalReference, 759 refs, 0.0022480 secs]2026-03-01T10:00:05.904+0100: 5.904: [PhantomReference, 0 refs, 5 refs, 0.0000040 secs]2026-03-01T10:00:05.904+0100: 5.904: [JNI Weak Reference, 0.0000250 secs]: 19000K->8000K(20480K), 2.5000000 secs] 28000K->8000K(29696K), [Metaspace: 3000K->3000K(1056768K)], 2.5600000 secs] [Times: user=2.60 sys=0.10, real=2.56 secs]
2026-03-01T10:00:07.561+0100: 7.561: Total time for which application threads were stopped: 2.5610000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:09.000+0100: 9.000: [Full GC (Metadata GC Threshold) 2026-03-01T10:00:09.000+0100: 9.000: [CMS: 8000K->7000K(20480K), 0.2000000 secs] 9000K->7000K(29696K), [Metaspace: 3100K->3100K(1056768K)], 0.2010000 secs] [Times: user=0.20 sys=0.00, real=0.20 secs]
2026-03-01T10:00:09.202+0100: 9.202: Total time for which application threads were stopped: 0.2020000 seconds, Stopping threads took: 0.0001000 seconds
`, `full, Allocation Failure, 2.56s, 28000K->8000K(29696K), cpu 2.7s real 2.56s, ends 7.56s
  stop 2.561s, 1 pauses
full, Metadata GC Threshold, 201ms, 9000K->7000K(29696K), cpu 200ms real 200ms, ends 9.201s
  stop 202ms, 1 pauses
`},
	{"Parallel with PrintAdaptiveSizePolicy, PrintTenuringDistribution and PrintHeapAtGC", `{Heap before GC invocations=1 (full 0):
 PSYoungGen      total 76288K, used 65536K [0x00000000eab00000, 0x00000000f0000000, 0x0000000100000000)
  eden space 65536K, 100% used [0x00000000eab00000,0x00000000eeb00000,0x00000000eeb00000)
 ParOldGen       total 175104K, used 0K [0x00000000c0000000, 0x00000000cab00000, 0x00000000eab00000)
  object space 175104K, 0% used [0x00000000c0000000,0x00000000c0000000,0x00000000cab00000)
2026-03-01T10:00:01.000+0100: 1.000: [GC (Allocation Failure) AdaptiveSizePolicy::update_averages:  survived: 11005952  promoted: 1636352  overflow: false
AdaptiveSizeStart: 1.012 collection: 1 
  avg_survived_padded_avg: 12345.678900  avg_promoted_padded_avg: 1234.500000  avg_pretenured_padded_avg: 0.000000  tenuring_thresh: 7  target_size: 11010048
Desired survivor size 11010048 bytes, new threshold 7 (max 15)
PSAdaptiveSizePolicy::compute_eden_space_size: costs minor_time: 0.012000 major_cost: 0.000000 mutator_cost: 0.988000 throughput_goal: 0.990000 live_space: 279441440 free_space: 134217728 old_eden_size: 67108864 desired_eden_size: 67108864
AdaptiveSizePolicy::survivor space sizes: collection: 1 (10485760, 10485760) -> (10485760, 10485760) 
AdaptiveSizeStop: collection: 1 
[PSYoungGen: 65536K->10748K(76288K)] 65536K->12345K(251392K), 0.0123000 secs] [Times: user=0.03 sys=0.01, real=0.01 secs]
Heap after GC invocations=1 (full 0):
 PSYoungGen      total 76288K, used 10748K [0x00000000eab00000, 0x00000000f0000000, 0x0000000100000000)
}
2026-03-01T10:00:01.013+0100: 1.013: Total time for which application threads were stopped: 0.0126000 seconds, Stopping threads took: 0.0000200 seconds
2026-03-01T10:00:02.000+0100: 2.000: [Full GC (Ergonomics) AdaptiveSizeStart: 2.150 collection: 2 
AdaptiveSizeStop: collection: 2 
[PSYoungGen: 10748K->0K(76288K)] [ParOldGen: 174000K->90000K(175104K)] 184748K->90000K(251392K), [Metaspace: 2600K->2600K(1056768K)], 0.1600000 secs] [Times: user=0.50 sys=0.00, real=0.16 secs]
2026-03-01T10:00:02.161+0100: 2.161: Total time for which application threads were stopped: 0.1610000 seconds, Stopping threads took: 0.0000200 seconds
`, `young, Allocation Failure, 12.3ms, 65536K->12345K(251392K), cpu 40ms real 10ms, ends 1.0123s
  stop 12.6ms, 1 pauses
full, Ergonomics, 160ms, 184748K->90000K(251392K), cpu 500ms real 160ms, ends 2.16s
  stop 161ms, 1 pauses
`},
	{"Parallel without PrintGCCause, with PrintTenuringDistribution", `1.000: [GC
Desired survivor size 11010048 bytes, new threshold 7 (max 15)
[PSYoungGen: 65536K->10748K(76288K)] 65536K->12345K(251392K), 0.0123000 secs] [Times: user=0.03 sys=0.01, real=0.01 secs]
2.000: [GCDesired survivor size 11010048 bytes, new threshold 7 (max 15)
 [PSYoungGen: 65536K->10748K(76288K)] 67000K->13000K(251392K), 0.0130000 secs] [Times: user=0.03 sys=0.01, real=0.01 secs]
3.000: [Full GC [PSYoungGen: 10748K->0K(76288K)] [ParOldGen: 2252K->2000K(175104K)] 13000K->2000K(251392K) [PSPermGen: 22697K->22697K(262144K)], 0.0200000 secs] [Times: user=0.05 sys=0.00, real=0.02 secs]
`, `young, none, 12.3ms, 65536K->12345K(251392K), cpu 40ms real 10ms, ends 1.0123s
young, none, 13ms, 67000K->13000K(251392K), cpu 40ms real 10ms, ends 2.013s
full, none, 20ms, 13000K->2000K(251392K), cpu 50ms real 20ms, ends 3.02s
`},
	{"Parallel with PrintReferenceGC and PrintParallelOldGCPhaseTimes", `0.385: [GC (Allocation Failure) 0.388: [SoftReference, 0 refs, 0.0000262 secs]0.388: [WeakReference, 10 refs, 0.0000051 secs]0.388: [FinalReference, 1054 refs, 0.0011154 secs]0.389: [PhantomReference, 0 refs, 0 refs, 0.0000496 secs]0.389: [JNI Weak Reference, 0.0000037 secs][PSYoungGen: 15872K->2532K(18432K)] 15872K->3000K(60416K), 0.0060000 secs] [Times: user=0.01 sys=0.00, real=0.01 secs]
1.500: [Full GC (Metadata GC Threshold) 1.501: [marking phase1.501: [par mark, 0.0100000 secs]
1.511: [reference processing1.511: [SoftReference, 295 refs, 0.0000250 secs]1.511: [WeakReference, 75 refs, 0.0000064 secs]1.511: [FinalReference, 10 refs, 0.0000098 secs]1.511: [PhantomReference, 0 refs, 0 refs, 0.0000050 secs]1.511: [JNI Weak Reference, 0.0000030 secs], 0.0005000 secs]
, 0.0110000 secs]
1.512: [summary phase, 0.0000200 secs]
1.512: [adjust roots, 0.0020000 secs]
1.514: [compaction phase1.514: [drain task setup, 0.0000100 secs]
1.514: [dense prefix task setup, 0.0000020 secs]
, 0.0050000 secs]
[PSYoungGen: 2532K->0K(18432K)] [ParOldGen: 468K->2800K(41984K)] 3000K->2800K(60416K), [Metaspace: 20000K->20000K(1067008K)], 0.0210000 secs] [Times: user=0.06 sys=0.00, real=0.02 secs]
`, `young, Allocation Failure, 6ms, 15872K->3000K(60416K), cpu 10ms real 10ms, ends 391ms
full, Metadata GC Threshold, 21ms, 3000K->2800K(60416K), cpu 60ms real 20ms, ends 1.521s
`},
	{"G1 with PrintGCDetails, PrintAdaptiveSizePolicy, PrintTenuringDistribution and PrintReferenceGC", `2026-03-01T10:00:01.000+0100: 1.000: [GC pause (G1 Evacuation Pause) (young)
Desired survivor size 1572864 bytes, new threshold 15 (max 15)
- age   1:     838864 bytes,     838864 total
 1.000: [G1Ergonomics (CSet Construction) start choosing CSet, _pending_cards: 0, predicted base time: 10.00 ms, remaining time: 190.00 ms, target pause time: 200.00 ms]
 1.000: [G1Ergonomics (CSet Construction) add young regions to CSet, eden: 24 regions, survivors: 0 regions, predicted young region time: 1293.31 ms]
 1.000: [G1Ergonomics (CSet Construction) finish choosing CSet, eden: 24 regions, survivors: 0 regions, old: 0 regions, predicted pause time: 1303.31 ms, target pause time: 200.00 ms]
2026-03-01T10:00:01.008+0100: 1.008: [SoftReference, 0 refs, 0.0000281 secs]2026-03-01T10:00:01.008+0100: 1.008: [WeakReference, 70 refs, 0.0000043 secs]2026-03-01T10:00:01.008+0100: 1.008: [FinalReference, 896 refs, 0.0004365 secs]2026-03-01T10:00:01.009+0100: 1.009: [PhantomReference, 0 refs, 0 refs, 0.0000070 secs]2026-03-01T10:00:01.009+0100: 1.009: [JNI Weak Reference, 0.0000059 secs] 1.010: [G1Ergonomics (Heap Sizing) attempt heap expansion, reason: recent GC overhead higher than threshold after GC, recent GC overhead: 20.00 %, threshold: 10.00 %, uncommitted: 0 bytes, calculated expansion amount: 0 bytes (20.00 %)]
, 0.0100000 secs]
   [Parallel Time: 8.0 ms, GC Workers: 4]
      [GC Worker Start (ms): Min: 1000.1, Avg: 1000.2, Max: 1000.3, Diff: 0.2]
      [Ext Root Scanning (ms): Min: 0.6, Avg: 0.9, Max: 1.1, Diff: 0.5, Sum: 3.6]
      [Processed Buffers: Min: 0, Avg: 0.0, Max: 0, Diff: 0, Sum: 0]
      [Termination Attempts: Min: 1, Avg: 4.1, Max: 8, Diff: 7, Sum: 16]
   [Code Root Fixup: 0.0 ms]
   [String Dedup Fixup: 0.1 ms, GC Workers: 4]
      [Queue Fixup (ms): Min: 0.0, Avg: 0.0, Max: 0.0, Diff: 0.0, Sum: 0.0]
   [Clear CT: 0.1 ms]
   [Other: 1.9 ms]
      [Ref Proc: 0.6 ms]
   [Eden: 24.0M(24.0M)->0.0B(21.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->3584.5K(256.0M)]
 [Times: user=0.03 sys=0.01, real=0.01 secs]
2026-03-01T10:00:01.011+0100: 1.011: Total time for which application threads were stopped: 0.0110000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:01.012+0100: 1.012: [GC concurrent-string-deduplication, 112.0B->112.0B(0.0B), avg 0.0%, 0.0000058 secs]
2026-03-01T10:00:02.000+0100: 2.000: [Full GC (Metadata GC Threshold) 2026-03-01T10:00:02.100+0100: 2.100: [SoftReference, 10 refs, 0.0000281 secs]2026-03-01T10:00:02.100+0100: 2.100: [JNI Weak Reference, 0.0000059 secs] 2.290: [G1Ergonomics (Heap Sizing) attempt heap shrinking, reason: capacity higher than max desired capacity after Full GC, capacity: 268435456 bytes, occupancy: 8388608 bytes, max desired capacity: 27962026 bytes, 70.00 %]
 25M->8192K(64M), 0.3000000 secs]
   [Eden: 20.0M(21.0M)->0.0B(38.0M) Survivors: 3072.0K->0.0B Heap: 25.5M(256.0M)->8192.0K(64.0M)], [Metaspace: 20000K->20000K(1067008K)]
 [Times: user=0.30 sys=0.00, real=0.30 secs]
2026-03-01T10:00:02.301+0100: 2.301: Total time for which application threads were stopped: 0.3010000 seconds, Stopping threads took: 0.0001000 seconds
`, `young, G1 Evacuation Pause, 10ms, 24576K->3584K(262144K), cpu 40ms real 10ms, ends 1.01s
  stop 11ms, 1 pauses
full, Metadata GC Threshold, 300ms, 25600K->8192K(65536K), cpu 300ms real 300ms, ends 2.3s
  stop 301ms, 1 pauses
`},
	{"G1 whose concurrent thread writes in the middle of full collections", `2026-03-01T10:00:01.000+0100: 1.000: [GC pause (Metadata GC Threshold) (young) (initial-mark), 0.0050000 secs]
   [Parallel Time: 4.0 ms, GC Workers: 4]
   [Eden: 24.0M(24.0M)->0.0B(21.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->3584.0K(256.0M)]
 [Times: user=0.02 sys=0.00, real=0.01 secs]
2026-03-01T10:00:01.006+0100: 1.006: Total time for which application threads were stopped: 0.0060000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:01.006+0100: 2026-03-01T10:00:01.006+0100: 1.006: 1.006: [Full GC (Metadata GC Threshold) [GC concurrent-root-region-scan-start]
2026-03-01T10:00:01.007+0100: 1.007: [GC concurrent-root-region-scan-end, 0.0010000 secs]
2026-03-01T10:00:01.007+0100: 1.007: [GC concurrent-mark-start]
 4000K->3000K(256M), 0.2000000 secs]
   [Eden: 1024.0K(21.0M)->0.0B(21.0M) Survivors: 3072.0K->0.0B Heap: 4608.0K(256.0M)->3072.0K(256.0M)], [Metaspace: 20000K->20000K(1067008K)]
 [Times: user=0.20 sys=0.00, real=0.20 secs]
2026-03-01T10:00:01.207+0100: 1.207: Total time for which application threads were stopped: 0.2010000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:01.207+0100: 1.207: [GC concurrent-mark-abort]
2026-03-01T10:00:02.006+0100: 2.006: 2026-03-01T10:00:02.006+0100[Full GC (Metadata GC Threshold) : 2.006: [GC concurrent-root-region-scan-start]
2026-03-01T10:00:02.007+0100: 2.007: [GC concurrent-root-region-scan-end, 0.0010000 secs]
 4000K->3000K(256M), 0.3000000 secs]
   [Eden: 1024.0K(21.0M)->0.0B(21.0M) Survivors: 3072.0K->0.0B Heap: 4608.0K(256.0M)->3072.0K(256.0M)], [Metaspace: 20000K->20000K(1067008K)]
 [Times: user=0.30 sys=0.00, real=0.30 secs]
2026-03-01T10:00:02.307+0100: 2.307: Total time for which application threads were stopped: 0.3010000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:03.006+0100: 2026-03-01T10:00:03.006+0100: 3.006: 3.006[Full GC (Metadata GC Threshold) : [GC concurrent-root-region-scan-start]
 4000K->3000K(256M), 0.4000000 secs]
 [Times: user=0.40 sys=0.00, real=0.40 secs]
2026-03-01T10:00:03.407+0100: 3.407: Total time for which application threads were stopped: 0.4010000 seconds, Stopping threads took: 0.0001000 seconds
`, `concurrent start, Metadata GC Threshold, 5ms, 24576K->3584K(262144K), cpu 20ms real 10ms, ends 1.005s
  stop 6ms, 1 pauses
full, Metadata GC Threshold, 200ms, 4000K->3000K(262144K), cpu 200ms real 200ms, ends 1.206s
  stop 201ms, 1 pauses
full, Metadata GC Threshold, 300ms, 4000K->3000K(262144K), cpu 300ms real 300ms, ends 2.306s
  stop 301ms, 1 pauses
full, Metadata GC Threshold, 400ms, 4000K->3000K(262144K), cpu 400ms real 400ms, ends 3.406s
  stop 401ms, 1 pauses
`},
	{"G1 with PrintGC alone, as LinkedIn published it", `2026-03-01T10:00:01.000+0100: 1.000: [GC pause (G1 Evacuation Pause) (young) (initial-mark) 8258M->6294M(10G), 0.1343256 secs]
2026-03-01T10:00:01.134+0100: 1.134: [GC concurrent-root-region-scan-start]
2026-03-01T10:00:01.135+0100: 1.135: Total time for which application threads were stopped: 0.1459507 seconds, Stopping threads took: 0.0018440 seconds
2026-03-01T10:00:01.200+0100: 1.200: [GC concurrent-root-region-scan-end, 0.0660000 secs]
2026-03-01T10:00:01.200+0100: 1.200: [GC concurrent-mark-start]
2026-03-01T10:00:01.900+0100: 1.900: [GC concurrent-mark-end, 0.7000000 secs]
2026-03-01T10:00:01.901+0100: 1.901: [GC remark, 0.0150000 secs]
2026-03-01T10:00:01.917+0100: 1.917: Total time for which application threads were stopped: 0.0160000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:01.918+0100: 1.918: [GC cleanup 6300M->6200M(10G), 0.0100000 secs]
2026-03-01T10:00:01.929+0100: 1.929: Total time for which application threads were stopped: 0.0110000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:02.000+0100: 2.000: [GC pause (G1 Evacuation Pause) (mixed) 6294M->5300M(10G), 0.0300000 secs]
2026-03-01T10:00:13.470+0100: 13.470: Total time for which application threads were stopped: 11.4566012 seconds, Stopping threads took: 0.0001000 seconds
`, `concurrent start, G1 Evacuation Pause, 134.3256ms, 8456192K->6445056K(10485760K), cpu 0s real 0s, ends 1.1343256s
  stop 145.9507ms, 1 pauses
remark, none, 15ms, 0K->0K(0K), cpu 0s real 0s, ends 1.916s
  stop 16ms, 1 pauses
cleanup, none, 10ms, 6451200K->6348800K(10485760K), cpu 0s real 0s, ends 1.928s
  stop 11ms, 1 pauses
mixed, G1 Evacuation Pause, 30ms, 6445056K->5427200K(10485760K), cpu 0s real 0s, ends 2.03s
  stop 11.4566012s, 1 pauses
`},
	{"Serial with PrintGCApplicationConcurrentTime, PrintSafepointStatistics and a class histogram", `1.000: Application time: 0.5000000 seconds
1.001: [GC (Allocation Failure) 1.001: [DefNew1.003: [SoftReference, 0 refs, 0.0000395 secs]1.003: [WeakReference, 14 refs, 0.0000337 secs]1.003: [FinalReference, 234 refs, 0.0008361 secs]1.004: [PhantomReference, 0 refs, 0 refs, 0.0000135 secs]1.004: [JNI Weak Reference, 0.0000939 secs]
Desired survivor size 524288 bytes, new threshold 15 (max 15)
: 4416K->511K(4928K), 0.0040000 secs] 4416K->1500K(15872K), 0.0041000 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]
         vmop                    [threads: total initially_running wait_to_block]    [time: spin block sync cleanup vmop] page_trap_count
1.001: GenCollectForAllocation          [       9          0              0    ]      [     0     0     0     0     4    ]  0
1.005: Total time for which application threads were stopped: 0.0043000 seconds, Stopping threads took: 0.0000200 seconds
2.000: [Full GC (Heap Inspection Initiated GC) 2.000: [Class Histogram (before full gc): 
 num     #instances         #bytes  class name
----------------------------------------------
   1:          4000         400000  [C
   2:           900          90000  [Ljava.lang.Object;
   3:            10           1000  [[B
Total          4910         491000
, 0.0200000 secs]2.020: [Tenured: 9000K->3000K(10944K), 0.0300000 secs] 10000K->3000K(15872K), [Metaspace: 2500K->2500K(1056768K)]2.051: [Class Histogram (after full gc): 
 num     #instances         #bytes  class name
----------------------------------------------
   1:          2000         200000  [C
Total          2000         200000
, 0.0100000 secs]
, 0.0620000 secs] [Times: user=0.06 sys=0.00, real=0.06 secs]
2.063: Total time for which application threads were stopped: 0.0630000 seconds, Stopping threads took: 0.0000200 seconds
`, `young, Allocation Failure, 4.1ms, 4416K->1500K(15872K), cpu 0s real 0s, ends 1.0051s
  stop 4.3ms, 1 pauses
full, Heap Inspection Initiated GC, 62ms, 10000K->3000K(15872K), cpu 60ms real 60ms, ends 2.062s
  stop 63ms, 1 pauses
`},
	{"CMS, incremental, with PrintPromotionFailure, PrintFLSStatistics and a size that is only on the line of the record", `1.000: [GC (Allocation Failure) Before GC:
Statistics for BinaryTreeDictionary:
------------------------------------
Total Free Space: 2097152
Max   Chunk Size: 2097152
Number of Blocks: 1
Av.  Block  Size: 2097152
Tree      Height: 1
1.000: [ParNew (0: promotion failure size = 16)  (1: promotion failure size = 8)  (promotion failed)
Desired survivor size 524288 bytes, new threshold 6 (max 6)
: 9000K->9100K(9216K), 0.0400000 secs]1.040: [CMSCMS: Large block 0x00000000fea00000
: 19000K->7000K(20480K), 0.5000000 secs] 28000K->7000K(29696K), [Metaspace: 3000K->3000K(1056768K)]After GC:
Statistics for BinaryTreeDictionary:
------------------------------------
Total Free Space: 13000000
 icms_dc=5 , 0.5500000 secs] [Times: user=0.60 sys=0.00, real=0.55 secs]
1.551: Total time for which application threads were stopped: 0.5510000 seconds, Stopping threads took: 0.0000200 seconds
2.000: [GC2.000: [ParNew: 8192K->1000K(9216K), 0.0040000 secs] 15192K->8000K(29696K) icms_dc=0 , 0.0045000 secs] [Times: user=0.01 sys=0.00, real=0.00 secs]
`, `full, Allocation Failure, 550ms, 28000K->7000K(29696K), cpu 600ms real 550ms, ends 1.55s
  stop 551ms, 1 pauses
young, none, 4.5ms, 15192K->8000K(29696K), cpu 10ms real 0s, ends 2.0045s
`},
}

// A promotion that fails is marked by two dashes, which follow the cause and what was logged about references.
func TestAPromotionOfParallelThatFails(t *testing.T) {
	for _, before := range []string{"", "1.001: [SoftReference, 0 refs, 0.0000060 secs]1.002: [JNI Weak Reference, 0.0000050 secs]"} {
		log := "1.000: [GC (Allocation Failure) " + before + "--[PSYoungGen: 76000K->76000K(76288K)] 250000K->251000K(251392K), 0.5000000 secs] [Times: user=0.90 sys=0.00, real=0.50 secs]\n"
		all := joinText(log)
		if len(all.collections) != 1 || all.collections[0].Marks&EvacuationFailure == 0 || all.collections[0].Pauses[0].Duration != 500*time.Millisecond {
			t.Errorf("%s: the collections are %+v, want 1 with the mark %v and a first pause of 500ms", log, all.collections, EvacuationFailure)
		}
	}
}

func TestFormsOfJDK8(t *testing.T) {
	for _, one := range oldForms {
		t.Run(one.name, func(t *testing.T) {
			if got := brief(joinText(one.log)); got != one.want {
				t.Errorf("got\n%s\nwant\n%s", got, one.want)
			}
			unread := 0
			j := NewJoiner(Handlers{Unread: func() { unread++ }})
			for line := range strings.Lines(one.log) {
				j.Line([]byte(strings.TrimSuffix(line, "\n")), ul.Class{})
			}
			if j.Flush(); unread != 0 {
				t.Errorf("%d pauses are unread, want 0", unread)
			}
		})
	}
}
