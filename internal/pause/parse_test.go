package pause

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ullage/ullage/internal/ul"
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
		{"[web] GC(0) Pause Full 0.001ms", Event{Kind: Pause, Name: []byte("Full"), Duration: ms(0, 1)}}, // a hostname, or not
		{"[0.1s][gc,phases] GC(12) Y: Pause Mark Start (Major) 0.025ms", Event{Kind: Pause, GC: 12, Young: true, Name: []byte("Mark Start (Major)"), Duration: ms(0, 25)}},
		{"[0.1s][gc,phases] GC(12) Pause Mark End 1234567.890ms", Event{Kind: Pause, GC: 12, Name: []byte("Mark End"), Duration: ms(1234567, 890)}},
		{"[0,1s][gc] GC(1) Pause Remark 5M->5M(8M) 1,5ms", Event{Kind: Pause, GC: 1, Name: []byte("Remark"), Duration: ms(1, 500), Heap: mib(5, 5, 8)}},
		{"GC(4294967295) Pause Young (Concurrent Start) (G1 Evacuation Pause) (Evacuation Failure: Allocation/Pinned) 1M->1M(2M) 0.123456ms",
			Event{Kind: Pause, GC: 4294967295, Name: []byte("Young (Concurrent Start) (G1 Evacuation Pause) (Evacuation Failure: Allocation/Pinned)"), Duration: 123456, Heap: mib(1, 1, 2)}},
		{"GC(0) User=0.07s Sys=1.50s Real=12.34s", Event{Kind: CPU, Duration: ms(12340, 0), User: ms(70, 0), Sys: ms(1500, 0), Real: ms(12340, 0)}},
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
			t.Errorf("%s: %v\n%s", test.line, ok, diff)
		}
	}
}

func TestNoEvent(t *testing.T) {
	for _, line := range []string{
		"",
		"s",
		"[",
		"[0.397s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
		"[0.397s][info][gc,phases] GC(0)   Evacuate Collection Set: 1.2ms",
		"[0.397s][info][gc,phases] GC(0) Phase 1: Mark live objects 1.234ms",
		"[0.397s][info][gc,stats] Pause Init Mark (N)                  93 us",
		"[0.397s][info][gc] Pause Full 1M->1M(2M) 1.234ms", // every pause has a number
		"[0.397s][info][gc] GC() Pause Full 1M->1M(2M) 1.234ms",
		"[0.397s][info][gc] GC(-1) Pause Full 1M->1M(2M) 1.234ms",
		"[0.397s][info][gc] GC(1) o: Pause Mark End 1.234ms",
		"[0.397s][info][gc] GC(1)  Pause Full 1.234ms",
		// By another logger, as its tags show, or in the middle of a message.
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
			t.Errorf("%q: %+v, %s", line, e, e.Name)
		}
	}
}

// The fields of all decorators, in HotSpot's order; the last is that of the tags.
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
			t.Fatal(m.message)
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

// A full disk cuts a line anywhere, and glues the next one to it. What comes out
// is an event that happened, or none.
func TestGluedLinesInventNothing(t *testing.T) {
	for _, name := range []string{"all-decorators-jdk17.log", "debug-g1-jdk25.log", "z-jdk25.log", "shenandoah-jdk17.log", "serial-jdk25.log"} {
		lines := sample(t, name)
		for i, first := range lines {
			for j := i % 7; j < len(lines); j += 7 {
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
			t.Errorf("%s: %+v, %s", line, e, e.Name)
		}
	}
}

// Without decorators there is less to tell by: what is glued must not fit.
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
		if e.Stalled() != test.want || ok == (test.message == "") {
			t.Errorf("%s: %v, %+v", test.message, ok, e)
		}
	}
}

func TestKindNames(t *testing.T) {
	if got := fmt.Sprint(Kind(0), Pause, Safepoint, CPU, Init, Kind(99)); got != "none pause safepoint cpu init none" {
		t.Error(got)
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
			t.Errorf("%s: %v allocations", s.name, n)
		}
	}
}
