package pause

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ullage/ullage/internal/line/ul"
)

const full = "GC(7) Pause Full (System.gc()) 9M->8M(34M) 19.089ms"

func ms(whole, micros int) time.Duration {
	return time.Duration(whole)*time.Millisecond + time.Duration(micros)*time.Microsecond
}

func mib(before, after, capacity int64) Heap {
	return Heap{Before: before << 20, After: after << 20, Capacity: capacity << 20, Known: true}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		line string
		want Event
	}{
		{"[1.2s][info][gc] " + full, Event{Kind: Pause, GC: 7, Name: []byte("Full (System.gc())"), Duration: ms(19, 89), Heap: mib(9, 8, 34)}},
		{"[gc] GC(0) Pause Full 52M->8M(64M) 0.001ms", Event{Kind: Pause, Name: []byte("Full"), Duration: ms(0, 1), Heap: mib(52, 8, 64)}},
		{"[web] GC(0) Pause Full 0.001ms", Event{Kind: Pause, Name: []byte("Full"), Duration: ms(0, 1)}}, // may be a hostname
		{"[0.1s][gc,phases] GC(12) Y: Pause Mark Start (Major) 0.025ms", Event{Kind: Pause, GC: 12, Young: true, Name: []byte("Mark Start (Major)"), Duration: ms(0, 25)}},
		{"[0.1s][gc,phases] GC(12) Pause Mark End 1234567.890ms", Event{Kind: Pause, GC: 12, Name: []byte("Mark End"), Duration: ms(1234567, 890)}},
		{"[0,1s][gc] GC(1) Pause Remark 5M->5M(8M) 1,5ms", Event{Kind: Pause, GC: 1, Name: []byte("Remark"), Duration: ms(1, 500), Heap: mib(5, 5, 8)}},
		{"GC(4294967295) Pause Young (Concurrent Start) (G1 Evacuation Pause) (Evacuation Failure: Allocation/Pinned) 1M->1M(2M) 0.123456ms",
			Event{Kind: Pause, GC: 4294967295, Name: []byte("Young (Concurrent Start) (G1 Evacuation Pause) (Evacuation Failure: Allocation/Pinned)"), Duration: 123456, Heap: mib(1, 1, 2)}},
		{"GC(0) User=0.07s Sys=1.50s Real=12.34s", Event{Kind: CPU, Timed: true, Duration: ms(12340, 0), User: ms(70, 0), Sys: ms(1500, 0), Real: ms(12340, 0)}},
		{`[info][safepoint] Safepoint "no vm operation", Time since last: 900000000000000000 ns, Reaching safepoint: 1 ns, Cleanup: 2 ns, At safepoint: 3 ns, Leaving safepoint: 4 ns, Total: 10 ns`, // JDK 21
			Event{Kind: Safepoint, GC: -1, Name: []byte("no vm operation"), Reaching: 1, Cleanup: 2, At: 3, Leaving: 4, Duration: 10}},
		{"[1.2s][info][gc] " + full + "\r", Event{Kind: Pause, GC: 7, Name: []byte("Full (System.gc())"), Duration: ms(19, 89), Heap: mib(9, 8, 34)}},
		{"[2018-11-20T16:45:11.123+0100][1.234s][info][safepoint    ] Total time for which application threads were stopped: 0.0123456 seconds, Stopping threads took: 0.0000456 seconds", // JDK 11
			Event{Kind: Safepoint, GC: -1, Duration: 12345600, Reaching: 45600, At: 12300000}},
		{"Total time for which application threads were stopped: 61,5000000 seconds, Stopping threads took: 0,0000000 seconds\r",
			Event{Kind: Safepoint, GC: -1, Duration: ms(61500, 0), At: ms(61500, 0)}},
		{`Safepoint "Halt", Reaching safepoint: 1 ns, Something new: 5 ns, At safepoint: 3 ns, Total: 9 ns, Waste: 3 ns`,
			Event{Kind: Safepoint, GC: -1, Name: []byte("Halt"), Reaching: 1, At: 3, Duration: 9}},
	} {
		e, ok := Parse([]byte(test.line))
		if diff := cmp.Diff(test.want, e); !ok || diff != "" {
			t.Errorf("%s: Parse reports %v, want true; event (-want +got):\n%s", test.line, ok, diff)
		}
	}
}

func TestNoEvent(t *testing.T) {
	for _, line := range []string{
		"",
		"s",
		"[",
		"[0.397s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
		"[0.397s][info][gc,phases] GC(0)     Evacuate Collection Set: 1.2ms",
		"[0.397s][info][gc,phases] GC(0) Phase 1: Mark live objects",
		"[0.397s][info][gc,stats] Pause Init Mark (N)                  93 us",
		"[0.397s][info][gc] Pause Full 1M->1M(2M) 1.234ms", // every pause has a number
		"[0.397s][info][gc] GC() Pause Full 1M->1M(2M) 1.234ms",
		"[0.397s][info][gc] GC(-1) Pause Full 1M->1M(2M) 1.234ms",
		"[0.397s][info][gc] GC(1) o: Pause Mark End 1.234ms",
		"[0.397s][info][gc] GC(1)  Pause Full 1.234ms",
		// Lines of another logger, as the tags show, and events in the middle of a message.
		"[0.397s][info][exceptions] " + full,
		"[0.397s][info][gcx] " + full,
		"[0.397s][info][] " + full,
		"[0.397s][info][gc] GC(1) User=0.00s Sys=0.00s Real=0.00s later",
		`[0.397s][info][gc] Safepoint "Halt", Reaching safepoint: 1 ns, At safepoint: 3 ns, Total: 9 ns`,
		"[main thread] " + full,
		"[0.397s][info][gc]" + full,
		"[0.397s][info][gc " + full,
		"2026-11-20 INFO " + full,
		"  " + full,
		full + "\r\r", full + "\r ", "\r",
		"[0.397s][info][gc] Total time for which application threads were stopped: 0.0123456 seconds, Stopping threads took: 0.0000456 seconds",
		"[0.397s][info][safepoint] Application time: 0.0071730 seconds",
		"Total time for which application threads were stopped: 0.0123456 seconds",
		"Total time for which application threads were stopped: 0.0123456 seconds, Stopping threads took: 0.0200000 seconds",
		"Total time for which application threads were stopped: 0.0123456 seconds, Stopping threads took: 0.0000456 ms",
		"Total time for which application threads were stopped: 1 seconds, Stopping threads took: 0.0000456 seconds",
		// Cut, and glued to the next line.
		"[0.1s][info][gc,start] GC(1) Pause Rem[0.2s][info][gc] Allocation Stall (main) 5.811ms",
		"[0.1s][info][gc] GC(1) Pause Remark 5M->5M[0.2s][info][gc] Allocation Stall (main) 5.811ms",
		"GC(1) Pause Remark 5M->Allocation Stall (main) 5.811ms",
		"Allocation Stall (ma[0.2s][info][gc] Allocation Stall (main) 5.811ms",
		// Continuation lines.
		"[                    ] " + full,
		"[ ] " + full,
		// Numbers that HotSpot does not print.
		"GC(0000000000000000001) Pause Full 1.234ms",
		"GC(1) Pause Full 1ms", "GC(1) Pause Full 1.ms", "GC(1) Pause Full .234ms", "GC(1) Pause Full -1.234ms", "GC(1) Pause Full 1e3.0ms",
		"GC(1) Pause Full 1.2345678ms", "GC(1) Pause Full 1.234s", "GC(1) Pause Full 1.234 ms", "GC(1) Pause Full 1:234ms",
		"GC(1) Pause Full 1000000000000.000ms", "GC(1) Pause Full 99999999999999999999.000ms",
		"GC(1) User=0.00s Sys=0.00s Real=1000000000.00s", "GC(1) User=0.00s Sys=-0.10s Real=0.00s", "GC(1) User=0.00 Sys=0.00 Real=0.00s",
		"GC(1) User=0.00s Real=0.00s", "GC(1) User=0.0000000001s Sys=0.00s Real=0.00s",
		"GC(1) Pause 1.234ms", "GC(1) Pause  1.234ms", "GC(1) Pause Full  1.234ms", "GC(1) Pause (Full) 1.234ms",
		"GC(1) Pause Full (x 1.234ms", "GC(1) Pause Full x) 1.234ms", "GC(1) Pause Full (x)y 1.234ms", "GC(1) Pause Full(x) 1.234ms", "GC(1) Pause Full 1M->1M(2M)x 1.234ms",
		"GC(1) Pause Full 1K->1M(2M) 1.234ms", "GC(1) Pause " + fmt.Sprintf("%0129d", 0) + " 1.234ms", "GC(1) Pause F\x00ll 1.234ms",
		`Safepoint "", Reaching safepoint: 1 ns, At safepoint: 3 ns, Total: 9 ns`,
		`Safepoint "x`, `Safepoint "Halt", Time since last: 5 ns`, `Safepoint "Halt", Reaching safepoint: 1 ns, Total: 9 ns`,
		`Safepoint "Halt", At safepoint: 1 ns, Total: 9 ns`, `Safepoint "Halt", Reaching safepoint: 1 ns, At safepoint: 1 ns`,
		`Safepoint "Halt", Reaching safepoint: -1 ns, At safepoint: 3 ns, Total: 9 ns`, `Safepoint "Halt", Reaching safepoint: 1 ms, At safepoint: 3 ns, Total: 9 ns`,
		`Safepoint "Halt", Reaching safepoint: 1 ns, At safepoint: 3 ns, Total: 9223372036854775807 ns`,
		"Safepoint \"a\nb\", Reaching safepoint: 1 ns, At safepoint: 3 ns, Total: 9 ns",
	} {
		if e, ok := Parse([]byte(line)); ok || !cmp.Equal(e, Event{}) {
			t.Errorf("Parse(%q) is %+v with the name %s, %v; want the zero event and false", line, e, e.Name, ok)
		}
	}
}

// The fields of all decorators, in HotSpot's order. The last field is for the tags.
var fields = [12]string{
	"2026-11-20T16:45:11.123+0100", "2026-11-20T15:45:11.123+0000", "0.397s", "1795193160091ms", "475ms",
	"894000463518ns", "4207979ns", "payments-7f9c", "26343", "26350", "info", "",
}

func TestEverySetOfDecorators(t *testing.T) {
	for _, m := range []struct{ tags, message string }{
		{"gc", full},
		{"gc,phases", "GC(3) y: Pause Mark Start 0.016ms"},
		{"gc,cpu", "GC(3) User=0.01s Sys=0.00s Real=0.02s"},
		{"safepoint", `Safepoint "ZMarkEnd", Time since last: 5 ns, Reaching safepoint: 1 ns, Cleanup: 2 ns, At safepoint: 3 ns, Total: 6 ns`},
	} {
		want, ok := Parse([]byte(m.message))
		if !ok {
			t.Fatalf("%s: Parse finds no event, want one", m.message)
		}
		for set := range ul.Decorator(1 << len(fields)) {
			line := []byte(nil)
			for i, text := range fields {
				if ul.Decorator(1<<i) == ul.Tags {
					text = m.tags
				}
				if set&(1<<i) != 0 {
					line = fmt.Appendf(line, "[%-*s]", len(text)+int(set)%3, text)
				}
			}
			if set != 0 {
				line = append(line, ' ')
			}
			line = append(line, m.message...)
			if e, _ := Parse(line); !cmp.Equal(want, e) {
				t.Errorf("%s: %+v, want %+v", line, e, want)
			}
		}
	}
}

// A full disk cuts a line anywhere, and the next line is glued to it. The glued line must be parsed
// as the event of one of the two lines, or as no event.
func TestGluedLinesInventNothing(t *testing.T) {
	for _, name := range []string{"all-decorators-jdk17.log", "debug-g1-jdk25.log", "z-jdk25.log", "shenandoah-jdk17.log", "serial-jdk25.log"} {
		lines := sample(t, name)
		for i, first := range lines {
			for j := i % 23; j < len(lines); j += 23 {
				checkGlued(t, first, lines[j])
			}
		}
	}
}

func checkGlued(t *testing.T, first, second []byte) {
	t.Helper()
	a, _ := Parse(first)
	b, _ := Parse(second)
	for cut := range first {
		line := slices.Concat(first[:cut], second)
		if e, ok := Parse(line); ok && !cmp.Equal(e, a) && !cmp.Equal(e, b) {
			t.Errorf("%s is parsed as %+v with the name %s; want no event, or the event of one of the two lines", line, e, e.Name)
		}
	}
}

// Without decorators, Parse has less to check. Even so, it must not find an event in a glued line that neither of the
// two lines has.
func TestGluedLinesWithoutDecorations(t *testing.T) {
	for _, jdk := range []string{"jdk17.log", "jdk25.log"} {
		lines := sample(t, "no-decorators-"+jdk)
		for _, first := range lines {
			for _, second := range lines {
				checkGlued(t, first, second)
			}
		}
	}
}

func TestStalled(t *testing.T) {
	for _, test := range []struct {
		message string
		want    bool
	}{
		{"GC(0) User=0.00s Sys=0.00s Real=1.53s", true},
		{"GC(0) User=0.03s Sys=0.02s Real=0.10s", true},
		{"GC(0) User=0.03s Sys=0.03s Real=0.11s", false},
		{"GC(0) User=0.00s Sys=0.00s Real=0.09s", false},
		{"GC(0) User=7.80s Sys=0.10s Real=1.00s", false},
		{"GC(0) User=999999999.99s Sys=999999999.99s Real=999999999.99s", false},
		{"GC(0) Pause Full 1530.000ms", false},
		{`Safepoint "Halt", Reaching safepoint: 1 ns, At safepoint: 1 ns, Total: 1530000000 ns`, false},
		{"", false},
	} {
		e, ok := Parse([]byte(test.message))
		if e.Stalled(0) != test.want || ok == (test.message == "") {
			t.Errorf("%s: Parse reports %v, the event is %+v; want %v and Stalled %v", test.message, ok, e, test.message != "", test.want)
		}
	}
}

func TestKindNames(t *testing.T) {
	if got := fmt.Sprint(Kind(0), Pause, Safepoint, CPU, Init, Kind(99)); got != "none pause safepoint cpu init none" {
		t.Errorf(`the kinds are called %q, want "none pause safepoint cpu init none"`, got)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, s := range samples {
		lines := sample(t, s.name)
		if n := testing.AllocsPerRun(10, func() {
			for _, line := range lines {
				Parse(line)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", s.name, n)
		}
	}
}

func TestNamesForPeopleAndMetrics(t *testing.T) {
	for _, test := range []struct{ message, action, cause string }{
		{"GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.345ms", "young", "G1 Evacuation Pause"},
		{"GC(0) Pause Young (Concurrent Start) (G1 Humongous Allocation) 24M->5M(64M) 2.345ms", "concurrent start", "G1 Humongous Allocation"},
		{"GC(0) Pause Young (Mixed) (G1 Evacuation Pause) (Evacuation Failure: Allocation) 24M->5M(64M) 2.345ms", "mixed", "G1 Evacuation Pause"},
		{"GC(0) Pause Initial Mark (G1 Evacuation Pause) 24M->5M(64M) 2.345ms", "concurrent start", "G1 Evacuation Pause"}, // JDK 9 and 10
		{"GC(0) Pause Mixed (G1 Evacuation Pause) 24M->5M(64M) 2.345ms", "mixed", "G1 Evacuation Pause"},
		{"GC(0) Pause Initial Mark 24M->5M(64M) 2.345ms", "initial mark", None}, // CMS
		{"GC(0) Pause Young (Allocation Failure) 24M->5M(64M) 2.345ms", "young", "Allocation Failure"},
		{"GC(0) Pause Full (System.gc()) 24M->5M(64M) 2.345ms", "full", "System.gc()"},
		{"GC(0) Pause Full 24M->5M(64M) 2.345ms", "full", None},
		{"GC(0) Pause Degenerated GC (Young) (Outside of Cycle) 24M->5M(64M) 2.345ms", "degenerated gc", None},
		{"GC(0) Pause Init Mark (unload classes) 2.345ms", "init mark", None},
		{"GC(0) O: Pause Mark End 2.345ms", "mark end", None},
		{"GC(0) Pause Of Some Kind (Of Some Cause) 2.345ms", Other, Other},
		{"GC(0) Concurrent Mark Cycle 2.345ms", "mark cycle", None},
		{"GC(0) Concurrent cleanup (Young) 23M->17M(64M) 0.111ms", "cleanup", None},
		{"GC(0) Major Collection (Warmup) 8M(13%)->24M(38%) 0.030s", "major collection", "Warmup"},
		{"GC(0) Garbage Collection (Allocation Stall)", "garbage collection", "Allocation Stall"},
		{"GC(0) User=0.00s Sys=0.00s Real=0.00s", None, None},
	} {
		e, ok := Parse([]byte(test.message))
		if !ok || e.Action() != test.action || e.Cause() != test.cause || e.Operation() != None {
			t.Errorf("%s: Parse reports %v, the action is %q, the cause %q, the operation %q; want true, %q, %q and %q",
				test.message, ok, e.Action(), e.Cause(), e.Operation(), test.action, test.cause, None)
		}
	}
}

func TestFurtherEvents(t *testing.T) {
	for _, test := range []struct {
		line string
		want Event
	}{
		{"[gc] GC(0) Concurrent Mark Cycle", Event{Kind: Begin, Name: []byte("Mark Cycle")}},
		{"[gc] GC(0) Concurrent cleanup 23M->17M(64M) 0.111ms", Event{Kind: Concurrent, Name: []byte("cleanup"), Duration: ms(0, 111), Heap: mib(23, 17, 64)}},
		{"[gc,phases] GC(0) Y: Young Generation 8M(12%)->12M(19%) 0.011s", Event{Kind: Cycle, Young: true, Name: []byte("Young Generation"), Duration: ms(11, 0), Heap: mib(8, 12, 0)}},
		{"[gc] GC(7) Garbage Collection (Warmup) 8M(12%)->12M(19%)", Event{Kind: Cycle, GC: 7, Name: []byte("Garbage Collection (Warmup)"), Heap: mib(8, 12, 0)}},
		{"[gc,heap] GC(7) Old regions: 11->12", Event{Kind: Space, GC: 7, Name: []byte("Old regions"), Regions: true, Heap: Heap{Before: 11, After: 12, Known: true}}},
		{"[gc,heap] GC(7) Eden regions: 37->0(38)", Event{Kind: Space, GC: 7, Name: []byte("Eden regions"), Regions: true, Heap: Heap{Before: 37, After: 0, Capacity: 38, Known: true}}},
		{"[gc,heap] GC(7) DefNew: 17472K(19648K)->2176K(19648K) Eden: 17472K(17472K)->0K(17472K) From: 0K(2176K)->2176K(2176K)",
			Event{Kind: Space, GC: 7, Name: []byte("DefNew"), Heap: Heap{Before: 17472 << 10, After: 2176 << 10, Capacity: 19648 << 10, Known: true}}},
		{"[gc,heap] GC(7) ParOldGen: 3K->4K(43520K)", Event{Kind: Space, GC: 7, Name: []byte("ParOldGen"), Heap: Heap{Before: 3 << 10, After: 4 << 10, Capacity: 43520 << 10, Known: true}}}, // until JDK 13
		{"[gc,heap] GC(7) Y:  Promoted:         -                 0M (0%)            1M (2%)            3M (5%)             -                  -          ",
			Event{Kind: Space, GC: 7, Young: true, Name: []byte("Promoted"), Heap: Heap{After: 3 << 20, Known: true}}},
		{"[gc,heap] GC(7)  Capacity:       64M (100%)         64M (100%)         64M (100%)         63M (98%)          64M (100%)         64M (100%)   ",
			Event{Kind: Space, GC: 7, Name: []byte("Capacity"), Heap: Heap{After: 63 << 20, Known: true}}},
		{"[gc,heap] GC(7) Allocated:         -                 0M (0%)            2M (2%)           67M (53%)            -                  -          ",
			Event{Kind: Space, GC: 7, Name: []byte("Allocated"), Heap: Heap{After: 67 << 20, Known: true}}},
		{"[gc,metaspace] GC(7) Metaspace: 5000K->4000K(1056768K)", Event{Kind: Metaspace, GC: 7, Heap: Heap{Before: 5000 << 10, After: 4000 << 10, Capacity: 1056768 << 10, Known: true}}},
		{"[gc,task] GC(7) Using 2 workers of 4 for evacuation", Event{Kind: Workers, GC: 7, Count: 2}},
		{"[gc,task] GC(7) Using 1 of 2 workers for concurrent reset", Event{Kind: Workers, GC: 7, Count: 1}},
		{"[gc,task] GC(7) Using 1 Workers for Young Generation", Event{Kind: Workers, GC: 7, Count: 1}},
		{"[gc,phases] GC(7)   Pre Evacuate Collection Set: 0.1ms", Event{Kind: Phase, GC: 7, Name: []byte("Pre Evacuate Collection Set"), Duration: ms(0, 100)}},
		{"[gc,phases] GC(7) Phase 1: Mark live objects 2.942ms", Event{Kind: Phase, GC: 7, Name: []byte("Phase 1: Mark live objects"), Duration: ms(2, 942)}},
		{"[gc,phases] GC(7) Adjust Roots 1.020ms", Event{Kind: Phase, GC: 7, Name: []byte("Adjust Roots"), Duration: ms(1, 20)}},
		{"[gc] GC(7) To-space exhausted", Event{Kind: Failure, GC: 7, Name: []byte("To-space exhausted")}},
		{"[gc,ergo] GC(7) Promotion failed, size 32, has plab? yes, PLAB remaining: 0", Event{Kind: Failure, GC: 7, Name: []byte("Promotion failed")}}, // Shenandoah of JDK 25
		{"[gc] Relocation Stall (main) 5.811ms", Event{Kind: Stall, GC: -1, Relocation: true, Name: []byte("main"), Duration: ms(5, 811)}},
		{"[gc] Allocation Stall (a (b) ms) 5.811ms", Event{Kind: Stall, GC: -1, Name: []byte("a (b) ms"), Duration: ms(5, 811)}},
		{"[safepoint] Entering safepoint region: RevokeBias", Event{Kind: Enter, GC: -1, Name: []byte("RevokeBias")}},
		{"[gc] Using The Z Garbage Collector", Event{Kind: Init, GC: -1, Name: []byte("Using"), Value: []byte("The Z Garbage Collector")}},
		{"[0.1s][info][gc,init] Memory: 7957M", Event{Kind: Init, GC: -1, Name: []byte("Memory"), Value: []byte("7957M")}},
	} {
		e, ok := Parse([]byte(test.line))
		if diff := cmp.Diff(test.want, e); !ok || diff != "" {
			t.Errorf("%s: Parse reports %v, want true; event (-want +got):\n%s", test.line, ok, diff)
		}
	}
}

func TestThePrefixEndsAtTheFirstBracketWithASpace(t *testing.T) {
	for _, text := range []string{"", "]", "] ", " ]", "[] ", "[a]", "[a] ", "[ab] x] ", "[a ][b ] ] ", "[a]] ", "]]] ", "a] b] ", "    ]"} {
		if got, want := prefixEnd([]byte(text)), strings.Index(text, "] "); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
