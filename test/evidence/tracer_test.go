package main

import (
	"strings"
	"testing"
	"time"
)

// The lines come from a JVM under strace on a saturated disk.
const (
	stalledLine = `1795791486.100000 write(4</tmp/v/gc.log>, "[2026-11-27T14:58:06.100+0000][0.546s][info ][gc] GC(7) Pause Young (\"Normal\")\n", 104) = 104 <0.668123>`
	briefLine   = `1795791487.346643 write(4</tmp/v/gc.log>, "[2026-11-27T14:58:07.346+0000] a line"..., 137) = 137 <0.000040>`

	stalledLog = `[2026-11-27T14:58:06.100+0000][0.545s][debug][safepoint     ] Safepoint synchronization initiated using futex wait barrier. (11 threads)
[2026-11-27T14:58:06.099+0000][0.545s][info ][gc            ] GC(7) Pause Young (Normal) (G1 Evacuation Pause) 6M->1M(64M) 51.824ms
[2026-11-27T14:58:06.770+0000][1.213s][info ][safepoint     ] Safepoint "G1CollectForAllocation", Time since last: 132960226 ns, Reaching safepoint: 362430 ns, Cleanup: 245146 ns, At safepoint: 722096271 ns, Total: 722703847 ns
[2026-11-27T14:58:09.000+0000][3.400s][info ][safepoint     ] Safepoint "Cleanup", Time since last: 1 ns, Reaching safepoint: 2 ns, Total: 3 ns
`
	pagesStack = `[<0>] balance_dirty_pages+0x4a1/0xd60
[<0>] balance_dirty_pages_ratelimited_flags+0x2a3/0x390
[<0>] generic_perform_write+0x13c/0x210
[<0>] ext4_buffered_write_iter+0x5f/0xe0
[<0>] vfs_write+0x26b/0x410
[<0>] ksys_write+0x6e/0xe0
`
	journalStack = `[<0>] wait_transaction_locked+0x8a/0xd0
[<0>] add_transaction_credits+0x1c0/0x2e0
[<0>] start_this_handle+0x1f0/0x4f0
[<0>] ext4_dirty_inode+0x38/0x80
[<0>] vfs_write+0x26b/0x410
`
)

// TestATracedWrite checks the parser of strace's lines.
func TestATracedWrite(t *testing.T) {
	for _, c := range []struct {
		line string
		want time.Duration
		text string
	}{
		{stalledLine, 668123 * time.Microsecond, `[2026-11-27T14:58:06.100+0000][0.546s][info ][gc] GC(7) Pause Young (\"Normal\")\n`},
		{briefLine + "\n", 40 * time.Microsecond, "[2026-11-27T14:58:07.346+0000] a line"},
	} {
		w, ok := parseWrite(c.line)
		if !ok || w.took != c.want || w.text != c.text {
			t.Errorf("%q: got %v %q, %v; want %v %q", c.line, w.took, w.text, ok, c.want, c.text)
		}
	}
	for _, line := range []string{"", "+++ killed by SIGKILL +++", "1795791486.1 write(4</tmp/v/gc.log>, \"a\", 1 <unfinished ...>", `1795791486.1 write(4</tmp/v/gc.log>, "a", 1) = -1 ENOSPC (No space left on device) <0.1>`} {
		if w, ok := parseWrite(line); ok {
			t.Errorf("%q: got the write %+v, want none", line, w)
		}
	}
}

// TestAStallIsProven checks the pause that contains a stall, and the functions in which the kernel waited.
func TestAStallIsProven(t *testing.T) {
	r := &tracer{pauses: parsePauses(stalledLog)}
	if len(r.pauses) != 3 {
		t.Fatalf("got %+v, want three pauses", r.pauses)
	}
	for _, line := range []string{briefLine, stalledLine} {
		w, ok := parseWrite(line)
		if !ok {
			t.Fatalf("%q is not parsed, want a write", line)
		}
		w.thread = 12
		r.writes = append(r.writes, w)
	}
	began := r.writes[1].began
	outside := tracedWrite{thread: 12, began: began.Add(time.Minute), took: 200 * time.Millisecond}
	r.writes = append(r.writes, outside)
	pages, journal := parseStack(pagesStack), parseStack(journalStack)
	r.samples = []sample{
		{began.Add(10 * time.Millisecond), 12, pages}, {began.Add(20 * time.Millisecond), 12, pages}, {began.Add(30 * time.Millisecond), 12, pages},
		{began.Add(40 * time.Millisecond), 12, journal},
		{began.Add(40 * time.Millisecond), 13, journal}, // another thread
		{began.Add(-time.Millisecond), 12, journal},     // before the write
	}
	stalls := r.stalls()
	if len(stalls) != 2 {
		t.Fatalf("got %d stalls, want 2: %v", len(stalls), stalls)
	}
	if p := stalls[0].pause; p.took != 722703847 || !strings.HasPrefix(p.text, `Safepoint "G1Collect`) {
		t.Errorf("the pause of the stall: got %+v, want the safepoint", p)
	}
	if stalls[1].pause.took != 0 {
		t.Errorf("the pause of a write outside all pauses: got %+v, want none", stalls[1].pause)
	}
	for key, want := range map[string]float64{"writes": 3, "longest": 668.123, "stalls": 2, "proven": 1, onPages: 75, onJournal: 25, onOther: 0} {
		if got := r.figures()[key]; got != want {
			t.Errorf("%s: got %g, want %g", key, got, want)
		}
	}
	listing := strings.Join(r.listing("JDK 25"), "\n")
	for _, want := range []string{"JDK 25: 2 stalls\n", `14:58:06.100 write waits 668.1 ms in balance_dirty_pages (3), wait_transaction_locked (1); Safepoint "G1CollectForAllocation", 722.7 ms`, "in an unknown function; no pause"} {
		if !strings.Contains(listing, want) {
			t.Errorf("no %q in:\n%s", want, listing)
		}
	}
}

// TestNoStallIsAFigure checks that zero stalls are reported and that a nil tracer leaves the
// command unchanged.
func TestNoStallIsAFigure(t *testing.T) {
	f := (&tracer{}).figures()
	if v, ok := f["stalls"]; !ok || v != 0 {
		t.Errorf("without writes: got %v, want 0 stalls", f)
	}
	if got := (*tracer)(nil).around([]string{"java"}, "log"); len(got) != 1 {
		t.Errorf("without a tracer the command is %q, want it unchanged", got)
	}
}

// TestFunctionsOfTheKernelAreToldApart checks the kind of wait that is derived from each function.
func TestFunctionsOfTheKernelAreToldApart(t *testing.T) {
	for _, c := range []struct{ stack, function, on string }{
		{pagesStack, "balance_dirty_pages", onPages},
		{journalStack, "wait_transaction_locked", onJournal},
		{"[<0>] io_schedule+0x1/0x2\n[<0>] folio_wait_writeback+0x1/0x2\n", "folio_wait_writeback", onPages},
		{"[<0>] rwsem_down_write_slowpath+0x1/0x2\n[<0>] vfs_write+0x1/0x2\n", "rwsem_down_write_slowpath", onOther},
	} {
		function, on := sample{stack: parseStack(c.stack)}.reason()
		if function != c.function || on != c.on {
			t.Errorf("got %s, %s; want %s, %s", function, on, c.function, c.on)
		}
	}
	if got := parseStack("no stack\n"); got != nil {
		t.Errorf("got %q, want no function", got)
	}
}

// TestWhatADeviceHasWritten checks that the seventh field of a device's statistics is used.
func TestWhatADeviceHasWritten(t *testing.T) {
	got, err := sectorsWritten("    2996        0   149502      479     3416      634   486752     4175        0     2896     6141\n")
	if want := 486752.0 * 512; err != nil || got != want {
		t.Errorf("got %g, %v; want %g", got, err, want)
	}
	for _, bad := range []string{"", "1 2 3", "1 2 3 4 5 6 x"} {
		if got, err := sectorsWritten(bad); err == nil {
			t.Errorf("%q: got %g, want an error", bad, got)
		}
	}
}

func FuzzParseWrite(f *testing.F) {
	f.Add(stalledLine)
	f.Add(briefLine)
	f.Fuzz(func(t *testing.T, line string) {
		if w, ok := parseWrite(line); ok && w.took < 0 {
			t.Errorf("%q took %v, want at least 0", line, w.took)
		}
		parsePauses(line)
		parseStack(line)
	})
}
