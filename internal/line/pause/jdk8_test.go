package pause

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// These lines were written by hand, not by a JVM of JDK 8. Their numbers are invented. Their forms are
// from Oracle's GC tuning guide (Java SE 8) and HotSpot's sources of jdk8u (genCollectedHeap.cpp,
// concurrentMarkSweepGeneration.cpp, psScavenge.cpp, g1CollectedHeap.cpp, g1GCPhaseTimes.cpp). The
// reader also reads published logs of JDK 5 to 8.
const (
	oldCMS = `OpenJDK 64-Bit Server VM (25.342-b07) for linux-amd64 JRE (1.8.0_342-b07), built on Jul 16 2022 09:19:19 by "openjdk" with gcc 4.4.7
Memory: 4k page, physical 2097152k(2094644k free), swap 3145728k(3145728k free)
CommandLine flags: -XX:InitialHeapSize=33554432 -XX:+PrintGCDetails -XX:+UseConcMarkSweepGC -XX:+UseParNewGC
2026-03-01T10:00:01.000+0100: 1.000: [GC (Allocation Failure) 2026-03-01T10:00:01.000+0100: 1.000: [ParNew: 8000K->1000K(9000K), 0.0100000 secs] 18000K->12000K(31000K), 0.0110000 secs] [Times: user=0.02 sys=0.01, real=0.01 secs]
2026-03-01T10:00:01.012+0100: 1.012: Total time for which application threads were stopped: 0.0120000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:02.000+0100: 2.000: [GC (CMS Initial Mark) [1 CMS-initial-mark: 11000K(22000K)] 12500K(31000K), 0.0020000 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]
2026-03-01T10:00:02.003+0100: 2.003: Total time for which application threads were stopped: 0.0021000 seconds, Stopping threads took: 0.0000100 seconds
2026-03-01T10:00:02.003+0100: 2.003: [CMS-concurrent-mark-start]
2026-03-01T10:00:02.100+0100: 2.100: [GC (Allocation Failure) 2.100: [ParNew
Desired survivor size 524288 bytes, new threshold 1 (max 6)
- age   1:     600000 bytes,     600000 total
: 9000K->900K(9000K), 0.0200000 secs] 20000K->13900K(31000K), 0.0210000 secs] [Times: user=0.04 sys=0.00, real=0.02 secs]
2026-03-01T10:00:02.122+0100: 2.122: Total time for which application threads were stopped: 0.0215000 seconds, Stopping threads took: 0.0000100 seconds
2026-03-01T10:00:02.200+0100: 2.200: [CMS-concurrent-mark: 0.150/0.197 secs] [Times: user=0.30 sys=0.00, real=0.20 secs]
 CMS: abort preclean due to time 2026-03-01T10:00:07.500+0100: 7.500: [CMS-concurrent-abortable-preclean: 1.000/5.000 secs] [Times: user=2.00 sys=0.00, real=5.00 secs]
2026-03-01T10:00:07.510+0100: 7.510: [GC (CMS Final Remark) [YG occupancy: 5000 K (9000 K)]2026-03-01T10:00:07.510+0100: 7.510: [GC (CMS Final Remark) 7.510: [ParNew: 5000K->500K(9000K), 0.0030000 secs] 18000K->13800K(31000K), 0.0031000 secs] [Times: user=0.01 sys=0.00, real=0.00 secs]
2026-03-01T10:00:07.514+0100: 7.514: [Rescan (parallel) , 0.0010000 secs]7.515: [weak refs processing, 0.0000200 secs]7.515: [class unloading, 0.0010000 secs][1 CMS-remark: 13300K(22000K)] 13800K(31000K), 0.0080000 secs] [Times: user=0.02 sys=0.00, real=0.01 secs]
2026-03-01T10:00:07.519+0100: 7.519: Total time for which application threads were stopped: 0.0090000 seconds, Stopping threads took: 0.0000100 seconds
2026-03-01T10:00:07.519+0100: 7.519: [CMS-concurrent-sweep-start]
2026-03-01T10:00:07.600+0100: 7.600: [CMS-concurrent-sweep: 0.080/0.081 secs] [Times: user=0.10 sys=0.00, real=0.08 secs]
2026-03-01T10:00:07.610+0100: 7.610: [CMS-concurrent-reset: 0.010/0.010 secs] [Times: user=0.01 sys=0.00, real=0.01 secs]
2026-03-01T10:00:09.000+0100: 9.000: Total time for which application threads were stopped: 0.0003000 seconds, Stopping threads took: 0.0002000 seconds
`
	oldFailed = `2026-03-01T10:00:20.000+0100: 20.000: [GC (CMS Initial Mark) [1 CMS-initial-mark: 20000K(22000K)] 26000K(31000K), 0.0020000 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]
2026-03-01T10:00:20.002+0100: 20.002: [CMS-concurrent-mark-start]
2026-03-01T10:00:20.100+0100: 20.100: [GC (Allocation Failure) 2026-03-01T10:00:20.100+0100: 20.100: [ParNew (promotion failed): 9000K->9000K(9000K), 0.0100000 secs]2026-03-01T10:00:20.110+0100: 20.110: [CMS2026-03-01T10:00:20.150+0100: 20.150: [CMS-concurrent-mark: 0.100/0.148 secs] [Times: user=0.20 sys=0.00, real=0.15 secs]
 (concurrent mode failure): 21000K->9000K(22000K), 1.5000000 secs] 29000K->9000K(31000K), [Metaspace: 3000K->3000K(1056768K)], 1.6000000 secs] [Times: user=0.30 sys=0.10, real=1.60 secs]
2026-03-01T10:00:21.701+0100: 21.701: Total time for which application threads were stopped: 1.6010000 seconds, Stopping threads took: 0.0001000 seconds
`
	oldParallel = `2026-03-01T10:00:01.000+0100: 1.000: #0: [GC (Allocation Failure) [PSYoungGen: 65536K->10748K(76288K)] 65536K->12345K(251392K), 0.0123000 secs] [Times: user=0.03 sys=0.01, real=0.01 secs]
2026-03-01T10:00:02.000+0100: 2.000: #1: [GC (System.gc()) [PSYoungGen: 20000K->5000K(76288K)] 21597K->8000K(251392K), 0.0040000 secs] [Times: user=0.01 sys=0.00, real=0.00 secs]
2026-03-01T10:00:02.004+0100: 2.004: #2: [Full GC (System.gc()) [PSYoungGen: 5000K->0K(76288K)] [ParOldGen: 3000K->2900K(175104K)] 8000K->2900K(251392K), [Metaspace: 2600K->2600K(1056768K)], 0.0210000 secs] [Times: user=0.05 sys=0.00, real=0.02 secs]
2026-03-01T10:00:02.026+0100: 2.026: Total time for which application threads were stopped: 0.0255000 seconds, Stopping threads took: 0.0000200 seconds
2026-03-01T10:00:03.000+0100: 3.000: #3: [GC-- [PSYoungGen: 76000K->76000K(76288K)] 250000K->251000K(251392K), 0.5000000 secs] [Times: user=0.90 sys=0.00, real=0.50 secs]
`
	oldSerial = `0.500: [GC (Allocation Failure) 0.500: [DefNew: 4416K->511K(4928K), 0.0040000 secs] 4416K->1500K(15872K), 0.0041000 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]
0.900: [GC (Allocation Failure) 0.900: [DefNew: 4900K->4900K(4928K), 0.0000200 secs]0.900: [Tenured: 9000K->3000K(10944K), 0.0300000 secs] 13900K->3000K(15872K), [Metaspace: 2500K->2500K(1056768K)], 0.0301000 secs] [Times: user=0.03 sys=0.00, real=0.03 secs]
1.200: [Full GC (System.gc()) 1.200: [Tenured: 3000K->2900K(10944K), 0.0200000 secs] 3100K->2900K(15872K), [Metaspace: 2500K->2500K(1056768K)], 0.0201000 secs] [Times: user=0.02 sys=0.00, real=0.02 secs]
`
	oldG1 = `CommandLine flags: -XX:+PrintGCDetails -XX:+UseG1GC
2026-03-01T10:00:01.000+0100: 1.000: [GC pause (G1 Evacuation Pause) (young), 0.0100000 secs]
   [Parallel Time: 8.0 ms, GC Workers: 4]
      [GC Worker Start (ms): Min: 1000.1, Avg: 1000.2, Max: 1000.3, Diff: 0.2]
      [Object Copy (ms): Min: 3.2, Avg: 3.2, Max: 3.3, Diff: 0.0, Sum: 6.5]
   [Code Root Fixup: 0.0 ms]
   [Clear CT: 0.1 ms]
   [Other: 1.9 ms]
      [Choose CSet: 0.0 ms]
   [Eden: 24.0M(24.0M)->0.0B(21.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->3584.5K(256.0M)]
 [Times: user=0.03 sys=0.01, real=0.01 secs]
2026-03-01T10:00:01.011+0100: 1.011: Total time for which application threads were stopped: 0.0110000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:02.000+0100: 2.000: [GC pause (Metadata GC Threshold) (young) (initial-mark)
Desired survivor size 1572864 bytes, new threshold 15 (max 15)
 2.000: [G1Ergonomics (CSet Construction) start choosing CSet, _pending_cards: 512, predicted base time: 2.55 ms, remaining time: 197.45 ms]
, 0.0200000 secs]
   [Parallel Time: 18.0 ms, GC Workers: 4]
   [Eden: 20.0M(21.0M)->0.0B(21.0M) Survivors: 3072.0K->3072.0K Heap: 24.0M(256.0M)->8192.0K(256.0M)]
 [Times: user=0.06 sys=0.00, real=0.02 secs]
2026-03-01T10:00:02.021+0100: 2.021: [GC concurrent-root-region-scan-start]
2026-03-01T10:00:02.021+0100: 2.021: Total time for which application threads were stopped: 0.0210000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:02.025+0100: 2.025: [GC concurrent-root-region-scan-end, 0.0040000 secs]
2026-03-01T10:00:02.025+0100: 2.025: [GC concurrent-mark-start]
2026-03-01T10:00:02.100+0100: 2.100: [GC concurrent-mark-end, 0.0750000 secs]
2026-03-01T10:00:02.101+0100: 2.101: [GC remark 2026-03-01T10:00:02.101+0100: 2.101: [Finalize Marking, 0.0001000 secs] 2026-03-01T10:00:02.101+0100: 2.101: [GC ref-proc, 0.0002000 secs] 2026-03-01T10:00:02.101+0100: 2.101: [Unloading, 0.0030000 secs], 0.0050000 secs]
 [Times: user=0.01 sys=0.00, real=0.01 secs]
2026-03-01T10:00:02.107+0100: 2.107: Total time for which application threads were stopped: 0.0055000 seconds, Stopping threads took: 0.0000100 seconds
2026-03-01T10:00:02.107+0100: 2.107: [GC cleanup 9000K->7000K(256M), 0.0010000 secs]
 [Times: user=0.00 sys=0.00, real=0.00 secs]
2026-03-01T10:00:02.109+0100: 2.109: Total time for which application threads were stopped: 0.0012000 seconds, Stopping threads took: 0.0000100 seconds
2026-03-01T10:00:02.109+0100: 2.109: [GC concurrent-cleanup-start]
2026-03-01T10:00:02.110+0100: 2.110: [GC concurrent-cleanup-end, 0.0010000 secs]
2026-03-01T10:00:03.000+0100: 3.000: [GC pause (G1 Evacuation Pause) (mixed) (to-space exhausted), 0.3000000 secs]
   [Parallel Time: 290.0 ms, GC Workers: 4]
   [Eden: 12.0M(21.0M)->0.0B(12.0M) Survivors: 3072.0K->0.0B Heap: 250.0M(256.0M)->250.0M(256.0M)]
 [Times: user=0.40 sys=0.10, real=0.30 secs]
2026-03-01T10:00:03.301+0100: 3.301: Total time for which application threads were stopped: 0.3010000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:03.302+0100: 3.302: [Full GC (Allocation Failure)  250M->20M(256M), 0.9000000 secs]
   [Eden: 0.0B(12.0M)->0.0B(80.0M) Survivors: 0.0B->0.0B Heap: 250.0M(256.0M)->20.0M(256.0M)], [Metaspace: 2600K->2600K(1056768K)]
 [Times: user=1.20 sys=0.00, real=0.90 secs]
2026-03-01T10:00:04.203+0100: 4.203: Total time for which application threads were stopped: 0.9010000 seconds, Stopping threads took: 0.0001000 seconds
`
)

var oldLogs = []string{oldCMS, oldFailed, oldParallel, oldSerial, oldG1}

// points matches the decimal points in the numbers of a log, but not those in its dates, which have a point in every locale.
var points = regexp.MustCompile(`\b(\d+)\.(\d+)( sec|: \[|: T| ms|/|[BKM]| sys|, real)`)

// brief describes the pauses of a log.
func brief(all *joined) string {
	var b strings.Builder
	for _, s := range all.stops {
		for i := range s.Pauses {
			p := &s.Pauses[i]
			fmt.Fprintf(&b, "%s, %s, %v, %dK->%dK(%dK), cpu %v real %v, ends %v\n", p.Action, p.Cause, p.Duration, p.Heap.Before>>10, p.Heap.After>>10, p.Heap.Capacity>>10,
				p.Times.User+p.Times.Sys, p.Times.Real, p.End.Uptime)
		}
		if s.Safepoint {
			fmt.Fprintf(&b, "  stop %v, %d pauses\n", s.Duration, len(s.Pauses))
		}
	}
	return b.String()
}

func joinText(text string) *joined {
	return join(lines(strings.Split(strings.TrimSuffix(text, "\n"), "\n")...))
}

func TestPausesOfJDK8(t *testing.T) {
	for name, one := range map[string]struct {
		log       string
		collector Collector
		want      string
	}{
		"CMS": {oldCMS, CMS, `young, Allocation Failure, 11ms, 18000K->12000K(31000K), cpu 30ms real 10ms, ends 1.011s
  stop 12ms, 1 pauses
initial mark, none, 2ms, 12500K->12500K(31000K), cpu 0s real 0s, ends 2.002s
  stop 2.1ms, 1 pauses
young, Allocation Failure, 21ms, 20000K->13900K(31000K), cpu 40ms real 20ms, ends 2.121s
  stop 21.5ms, 1 pauses
remark, none, 8ms, 13800K->13800K(31000K), cpu 20ms real 10ms, ends 7.518s
  stop 9ms, 1 pauses
  stop 300µs, 0 pauses
`},
		"a concurrent mode failure, with a line of another thread inside": {oldFailed, CMS, `initial mark, none, 2ms, 26000K->26000K(31000K), cpu 0s real 0s, ends 20.002s
full, Allocation Failure, 1.6s, 29000K->9000K(31000K), cpu 400ms real 1.6s, ends 21.7s
  stop 1.601s, 1 pauses
`},
		"Parallel": {oldParallel, Parallel, `young, Allocation Failure, 12.3ms, 65536K->12345K(251392K), cpu 40ms real 10ms, ends 1.0123s
young, System.gc(), 4ms, 21597K->8000K(251392K), cpu 10ms real 0s, ends 2.004s
full, System.gc(), 21ms, 8000K->2900K(251392K), cpu 50ms real 20ms, ends 2.025s
  stop 25.5ms, 2 pauses
young, none, 500ms, 250000K->251000K(251392K), cpu 900ms real 500ms, ends 3.5s
`},
		"Serial": {oldSerial, Serial, `young, Allocation Failure, 4.1ms, 4416K->1500K(15872K), cpu 0s real 0s, ends 504.1ms
full, Allocation Failure, 30.1ms, 13900K->3000K(15872K), cpu 30ms real 30ms, ends 930.1ms
full, System.gc(), 20.1ms, 3100K->2900K(15872K), cpu 20ms real 20ms, ends 1.2201s
`},
		"G1": {oldG1, G1, `young, G1 Evacuation Pause, 10ms, 24576K->3584K(262144K), cpu 40ms real 10ms, ends 1.01s
  stop 11ms, 1 pauses
concurrent start, Metadata GC Threshold, 20ms, 24576K->8192K(262144K), cpu 60ms real 20ms, ends 2.02s
  stop 21ms, 1 pauses
remark, none, 5ms, 0K->0K(0K), cpu 10ms real 10ms, ends 2.106s
  stop 5.5ms, 1 pauses
cleanup, none, 1ms, 9000K->7000K(262144K), cpu 0s real 0s, ends 2.108s
  stop 1.2ms, 1 pauses
mixed, G1 Evacuation Pause, 300ms, 256000K->256000K(262144K), cpu 500ms real 300ms, ends 3.3s
  stop 301ms, 1 pauses
full, Allocation Failure, 900ms, 256000K->20480K(262144K), cpu 1.2s real 900ms, ends 4.202s
  stop 901ms, 1 pauses
`},
	} {
		all := joinText(one.log)
		if got := brief(all); got != one.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, one.want)
		}
		if len(all.runs) != 1 || all.runs[0].Collector != one.collector {
			t.Errorf("%s: the runs are %+v, want 1 with Collector %v", name, all.runs, one.collector)
		}
		comma := joinText(points.ReplaceAllString(one.log, "$1,$2$3"))
		if got := brief(comma); got != one.want {
			t.Errorf("%s, with decimal commas:\n%s\nwant\n%s", name, got, one.want)
		}
	}
}

// The lines after a pause of G1 say how many threads worked in it, and how long its phases took.
func TestBlocksOfJDK8(t *testing.T) {
	phases := map[string]time.Duration{}
	j := NewJoiner(Handlers{Stop: func(s *Stop) {
		for i := range s.Pauses {
			if p := &s.Pauses[i]; (p.Workers == 4) != (p.Action == "young" || p.Action == "concurrent start" || p.Action == "mixed") {
				t.Errorf("the pause is %+v, want 4 Workers exactly for young, concurrent start and mixed", p)
			}
		}
	}})
	for line := range strings.Lines(oldG1) {
		if e, ok := j.Line([]byte(strings.TrimSuffix(line, "\n")), ul.Class{}); ok && e.Kind == Phase {
			phases[string(e.Name)] += e.Duration
		}
	}
	want := map[string]time.Duration{"Parallel Time": 316 * time.Millisecond, "Code Root Fixup": 0, "Clear CT": 100 * time.Microsecond, "Other": 1900 * time.Microsecond}
	if !maps.Equal(phases, want) {
		t.Errorf("the phases are %v, want %v", phases, want)
	}
}

func TestCollectionsOfJDK8(t *testing.T) {
	summary := func(log string) string {
		var b strings.Builder
		for _, c := range joinText(log).collections {
			promoted, allocated := int64(-1), int64(-1)
			if c.Promoted >= 0 {
				promoted = c.Promoted >> 10
			}
			if c.Allocated >= 0 {
				allocated = c.Allocated >> 10
			}
			fmt.Fprintf(&b, "%s: %d pauses, concurrent %v, promoted %d, allocated %d, metaspace %d, marks %d\n", c.Action, c.Count, c.Concurrent, promoted, allocated, c.Metaspace.After>>10, c.Marks)
		}
		return b.String()
	}
	for name, one := range map[string]struct{ log, want string }{
		"CMS": {oldCMS, `young: 1 pauses, concurrent 0s, promoted 1000, allocated -1, metaspace 0, marks 0
young: 1 pauses, concurrent 0s, promoted 2000, allocated 7500, metaspace 0, marks 0
initial mark: 2 pauses, concurrent 5.288s, promoted -1, allocated 500, metaspace 0, marks 0
`},
		"failure": {oldFailed, `initial mark: 1 pauses, concurrent 148ms, promoted -1, allocated -1, metaspace 0, marks 0
full: 1 pauses, concurrent 0s, promoted -1, allocated 3000, metaspace 3000, marks 10
`},
		"G1": {oldG1, `young: 1 pauses, concurrent 0s, promoted -1, allocated -1, metaspace 0, marks 0
concurrent start: 1 pauses, concurrent 0s, promoted -1, allocated 20991, metaspace 0, marks 0
mark cycle: 2 pauses, concurrent 79ms, promoted -1, allocated 808, metaspace 0, marks 0
mixed: 1 pauses, concurrent 0s, promoted -1, allocated 249000, metaspace 0, marks 8
full: 1 pauses, concurrent 0s, promoted -1, allocated 0, metaspace 2600, marks 2
`},
	} {
		if got := summary(one.log); got != one.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, one.want)
		}
	}
}

// Either stamp or both may be missing.
func TestStampsOfJDK8(t *testing.T) {
	const rest = "[GC (Allocation Failure) [PSYoungGen: 65536K->10748K(76288K)] 65536K->12345K(251392K), 0.0123000 secs] [Times: user=0.03 sys=0.01, real=0.01 secs] \r"
	at := time.Date(2026, 3, 1, 9, 0, 1, 0, time.UTC)
	for stamps, want := range map[string]Clock{
		"2026-03-01T10:00:01.000+0100: 7.250: ": {Wall: at, Uptime: 7250 * time.Millisecond, HasUptime: true},
		"2026-03-01T10:00:01.000+0100: ":        {Wall: at},
		"7.250: ":                               {Uptime: 7250 * time.Millisecond, HasUptime: true},
		"7,250: ":                               {Uptime: 7250 * time.Millisecond, HasUptime: true},
		"7.250: #12: ":                          {Uptime: 7250 * time.Millisecond, HasUptime: true},
		"2026-03-01T10:00:01.000+0100: 7.250: 7.260: ": {Wall: at, Uptime: 7250 * time.Millisecond, HasUptime: true},
		"": {},
		"2026-03-01T10:00:01.000+0100: 7.250: #3: #4: ": {Wall: at, Uptime: 7250 * time.Millisecond, HasUptime: true},
	} {
		all := joinText(stamps + rest)
		if len(all.pauses) != 1 || all.timed != 1 {
			t.Errorf("%q: the pauses are %+v, %d have CPU times; want 1 pause with CPU times", stamps, all.pauses, all.timed)
			continue
		}
		if end := all.pauses[0].End; end != want.plus(12300*time.Microsecond) {
			t.Errorf("%q: ends at %+v, want %+v", stamps, end, want.plus(12300*time.Microsecond))
		}
	}
}

// If the end of a pause is lost, its numbers are not used and the pause is counted as unread.
func TestAPauseOfJDK8ThatDoesNotEnd(t *testing.T) {
	const whole = "3.000: [GC (Allocation Failure) 3.000: [ParNew: 9000K->900K(9000K), 0.0020000 secs] 20000K->13900K(31000K), 0.0021000 secs]"
	for name, log := range map[string]string{
		"the next pause":         "1.000: [GC (Allocation Failure) 1.000: [ParNew: 9000K->900K(9000K), 0.0200000 se\n" + whole,
		"the end of the stop":    "1.000: [GC (Allocation Failure) 1.000: [ParNew: 9000K->900K(9000K), 0.0200000 secs] 20000K->13900K(31\n2.000: Total time for which application threads were stopped: 0.0215000 seconds, Stopping threads took: 0.0000100 seconds\n" + whole,
		"another form":           "1.000: [GC (Allocation Failure) 20000K->13900K(31000K), a while]\n" + whole,
		"the end of the log":     whole + "\n4.000: [GC (Allocation Failure) 4.000: [ParNew",
		"brackets in each other": "1.000: [GC (Allocation Failure) " + strings.Repeat("[a", 9) + ", 0.0200000 secs]\n" + whole,
		"a pause of Shenandoah":  "0.500: [Pause Init Mark (process weakrefs), start]\n    Using 2 of 2 workers for init marking\n0.502: [Pause Init Mark (process weakrefs), 1.983 ms]\n" + whole,
		"lines without end":      "1.000: [GC (Allocation Failure)\n" + strings.Repeat("- age 1: 5 bytes\n", maxRest) + "20000K->13900K(31000K), 0.1000000 secs]\n" + whole,
	} {
		var pauses []time.Duration
		unread := 0
		j := NewJoiner(Handlers{Pause: func(p *GCPause) { pauses = append(pauses, p.Duration) }, Unread: func() { unread++ }})
		for line := range strings.Lines(log) {
			j.Line([]byte(strings.TrimSuffix(line, "\n")), ul.Class{})
		}
		j.Flush()
		if len(pauses) != 1 || pauses[0] != 2100*time.Microsecond || unread != 1 {
			t.Errorf("%s: %v, %d unread; want one pause of 2.1ms and 1 unread", name, pauses, unread)
		}
	}
}

// Lines of other programs are not pauses.
func TestNoPauseOfJDK8(t *testing.T) {
	for _, line := range []string{
		"2026-03-01T10:00:01.000+0100: text", "1.5: [GC (Allocation Failure) 1K->1K(1K), 0.1000000 secs]", "12: [GC (a) 1K->1K(1K), 0.1000000 secs]",
		"[GCM] key 0.1000000 secs]", "[GC] 0.1000000 secs]", "1.000: [GCM 0.1000000 secs]", "1.000: [GC concurrent-mark-start]", "   [GC Worker Other (ms): Min: 0.1, 0.1000000 secs]",
		"[Full GCs: 7, 0.1000000 secs]", "see [GC (Allocation Failure) 1K->1K(1K), 0.1000000 secs]", "1.000: [Times: user=0.00 sys=0.00, real=0.00 secs]",
		"1.000: [GC (Allocation Failure) 1K->1K(1K), -0.1 secs]", "1.000: [GC (Allocation Failure) 1K->1K(1K), 1 secs]",
	} {
		if e, ok := Parse([]byte(line)); ok && (e.Kind == Pause || e.Kind == Safepoint) {
			t.Errorf("%q is read as %+v, want no pause and no safepoint", line, e)
		}
		if all := joinText(line); len(all.pauses) > 0 {
			t.Errorf("%q has the pauses %+v, want none", line, all.pauses)
		}
	}
}

// Parse finds the event of a record that has only one line.
func TestParseLineOfJDK8(t *testing.T) {
	e, ok := Parse([]byte("2026-03-01T10:00:01.000+0100: 1.000: [GC (Allocation Failure) [PSYoungGen: 65536K->10748K(76288K)] 65536K->12345K(251392K), 0.6000000 secs] [Times: user=0.03 sys=0.01, real=0.60 secs]"))
	if !ok || e.Kind != Pause || e.GC != -1 || e.Duration != 600*time.Millisecond || string(e.Name) != "Young (Allocation Failure)" || e.Real != 600*time.Millisecond || !e.Stalled(DefaultFloor) {
		t.Errorf(`the event is %+v, its name %q, parsed: %v; want a stalled Pause "Young (Allocation Failure)" with GC -1, Duration and Real 600ms`,
			e, e.Name, ok)
	}
	if e, ok := Parse([]byte(" [Times: user=0.03 sys=0.01, real=0.60 secs]")); ok {
		t.Errorf("CPU times without an event are %+v, want no event", e)
	}
}

// A JVM of JDK 8 that starts again begins another run, with the version at the beginning of its file. So
// does a newer JVM after it.
func TestRunsOfJDK8(t *testing.T) {
	all := joinText(oldCMS + oldCMS + "[0.010s][info][gc] Using G1\n[0.500s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.345ms\n")
	if len(all.runs) != 3 || len(all.pauses) != 9 || all.runs[2].Collector != G1 {
		t.Fatalf("the runs are %+v, with %d pauses; want 3 runs, the last with Collector %v, and 9 pauses", all.runs, len(all.pauses), G1)
	}
	for _, r := range all.runs[:2] {
		if r.Collector != CMS {
			t.Errorf("the run is %+v, want Collector %v", r, CMS)
		}
	}
	j := NewJoiner(Handlers{})
	for line := range strings.Lines(oldCMS) {
		j.Line([]byte(strings.TrimSuffix(line, "\n")), ul.Class{})
	}
	if j.Run().Version != "1.8.0_342-b07" {
		t.Errorf(`the run is %+v, want Version "1.8.0_342-b07"`, j.Run())
	}
}

// Part of a log, with lines missing, doubled or cut, never has a pause that the whole log does not have.
func FuzzPausesOfJDK8(f *testing.F) {
	for i := range uint64(40) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 8))
		log := oldLogs[random.IntN(len(oldLogs))]
		real := map[time.Duration]bool{}
		for _, p := range joinText(log).pauses {
			real[p.Duration] = true
		}
		damaged := slices.Collect(strings.Lines(log))
		for range 1 + random.IntN(5) {
			at := random.IntN(max(1, len(damaged)))
			if at == len(damaged) {
				break
			}
			switch line := damaged[at]; random.IntN(3) {
			case 0:
				damaged = slices.Delete(damaged, at, at+1)
			case 1:
				damaged[at] = line[:random.IntN(len(line)+1)] + "\n"
			case 2:
				damaged[at] = line[:random.IntN(len(line)+1)] // and the next line is glued to it
			}
		}
		for _, p := range joinText(strings.Join(damaged, "")).pauses {
			if !real[p.Duration] && p.Duration != 3100*time.Microsecond { // the collection before a remark, without the remark
				t.Errorf("a pause of %v (%s), want only those of the whole log, in\n%s", p.Duration, p.Name, strings.Join(damaged, ""))
			}
		}
	})
}

// checkOldEvent checks that an event of JDK 8, read from a single line, is as its documentation says.
func checkOldEvent(t *testing.T, e Event, line []byte) {
	t.Helper()
	for _, d := range []time.Duration{e.Duration, e.Reaching, e.At, e.User, e.Sys, e.Real} {
		if d < 0 || d >= 1e18 {
			t.Fatalf("%q has an impossible duration, want d at least 0 and d less than 1e18: %+v", line, e)
		}
	}
	for _, size := range []int64{e.Heap.Before, e.Heap.After, e.Heap.Capacity} {
		if size < 0 || size > maxBytes || size > 0 && !e.Heap.Known {
			t.Fatalf("%q has an impossible size, want 0 to %d, and only 0 unless Known: %+v", line, int64(maxBytes), e)
		}
	}
	if e.GC != -1 || e.Kind == Pause && (!bytes.Contains(line, []byte("GC")) || len(e.Name) == 0) || len(e.Name) > maxName ||
		!isListed(actions, e.Action()) || !isListed(causes, e.Cause()) {
		t.Fatalf("%q has a wrong number or name, want GC -1, listed names of at most %d bytes and, for a Pause, a name, and GC in the line: %+v",
			line, maxName, e)
	}
}
