package census

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/jvm/insight"
)

const mib = 1 << 20

// Each end is explained by known facts, without guesses.
func TestWhatEndedAJVM(t *testing.T) {
	atLimit := kernel.Memory{Limit: 512 * mib, Peak: 512 * mib, Kills: 1, Hits: 3}
	calm := kernel.Memory{Limit: 512 * mib, Peak: 300 * mib}
	heap := insight.Heap{Used: 412 * mib, Capacity: 430 * mib, Max: 436 * mib}
	full := insight.Heap{Used: 31 * mib, Capacity: 32 * mib, Max: 32 * mib, Whole: true}
	partly := insight.Heap{Used: 31 * mib, Capacity: 32 * mib, Max: 32 * mib}
	const exits = "-Xmx32m -XX:+ExitOnOutOfMemoryError"
	const crashes = exits + " -XX:+CrashOnOutOfMemoryError" // the JVM checks this option first
	const heapText = "heap 430 MiB (412 MiB of 436 MiB in use after a collection)"
	const fullText = "heap 32.0 MiB (31.0 MiB of 32.0 MiB in use after a collection)"
	for name, c := range map[string]struct {
		evidence
		cause, why string
	}{
		"its cgroup was at its limit": {evidence{how: "killed", heap: heap, memory: atLimit, group: visible, tmpfs: 54 * mib}, "memory-limit",
			"the kernel killed it at the memory limit of its own cgroup, 512 MiB (1 kill in the last minute); " + heapText + ", 54.0 MiB on the log's tmpfs, about 28.0 MiB besides"},
		"the node, or a pod above its container": {evidence{how: "killed", heap: heap, memory: kernel.Memory{Limit: 512 * mib, Peak: 440 * mib, Kills: 12}, group: visible}, "memory-above",
			"the kernel killed it: the node or a parent cgroup was out of memory, but its own cgroup was not at its limit (12 kills in the last minute); " + heapText + ", about 10.0 MiB besides"},
		"the socket shows nothing, the cgroup does": {evidence{memory: atLimit, group: visible}, "memory-limit",
			"the kernel killed it at the memory limit of its own cgroup, 512 MiB (1 kill in the last minute); heap unknown"},
		"a child of it was killed, and it exited": {evidence{how: "exited", memory: atLimit, group: visible}, "", ""},
		"SIGKILL with memory to spare": {evidence{how: "killed", heap: heap, memory: calm, group: visible}, "",
			"SIGKILL, or it exited at once by itself; its cgroup has recorded no OOM kill: peak 300 MiB, limit 512 MiB; " + heapText},
		"a signal that the kernel tells": {evidence{how: "killed", status: 6, told: true, heap: heap, memory: calm, group: visible}, "",
			"SIGABRT; its cgroup has recorded no OOM kill: peak 300 MiB, limit 512 MiB; " + heapText},
		"SIGKILL that the kernel tells": {evidence{how: "killed", status: 9, told: true}, "", "SIGKILL; its cgroup cannot be seen here; heap unknown"},
		"no limit": {evidence{how: "killed", memory: kernel.Memory{Peak: mib}, group: visible}, "",
			"SIGKILL, or it exited at once by itself; its cgroup has recorded no OOM kill and has no limit; heap unknown"},
		"another container's": {evidence{how: "killed", flags: exits, heap: full}, "",
			"SIGKILL, or it exited at once by itself; its cgroup cannot be seen here; " + fullText},
		"its container is gone": {evidence{how: "killed", flags: exits, heap: full, group: gone}, "",
			"SIGKILL, or it exited at once by itself; its cgroup ended with it; " + fullText},
		"ExitOnOutOfMemoryError, which leaves the socket on JDK 25": {evidence{how: "killed", flags: exits, heap: full, memory: calm, group: visible}, "heap",
			"-XX:+ExitOnOutOfMemoryError is set, and the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"ExitOnOutOfMemoryError, which removes it on JDK 17": {evidence{how: "exited", flags: exits, heap: full}, "heap",
			"-XX:+ExitOnOutOfMemoryError is set, and the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"the log does not show the largest heap, the options do": {evidence{how: "exited", flags: exits, heap: insight.Heap{Used: 31 * mib, Whole: true}}, "heap",
			"-XX:+ExitOnOutOfMemoryError is set, and the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"a full heap, and an exit of any kind": {evidence{how: "exited", heap: full}, "", "the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"garbage of a young collection":        {evidence{how: "exited", flags: exits, heap: partly}, "", ""},
		"CrashOnOutOfMemoryError": {evidence{how: "crashed", flags: crashes, heap: full}, "heap",
			"-XX:+CrashOnOutOfMemoryError is set, and the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"CrashOnOutOfMemoryError, whose report is elsewhere": {evidence{how: "killed", flags: crashes, heap: full, memory: calm, group: visible}, "heap",
			"-XX:+CrashOnOutOfMemoryError is set, and the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"CrashOnOutOfMemoryError, and another crash": {evidence{how: "crashed", flags: crashes, heap: heap}, "", ""},
		"CrashOnOutOfMemoryError, and an exit":       {evidence{how: "exited", flags: crashes, heap: full}, "", "the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"a crash with a full heap":                   {evidence{how: "crashed", flags: exits, heap: full, memory: atLimit, group: visible}, "", "the heap was full: 31.0 MiB of 32.0 MiB in use after a collection"},
		"an end in order":                            {evidence{how: "exited", flags: exits, heap: heap, memory: calm, group: visible}, "", ""},
		"nothing is known":                           {evidence{}, "", ""},
	} {
		cause, why := c.judge()
		if cause != c.cause || why != c.why {
			t.Errorf("%s: the cause is %q, because %q\nwant %q, because %q", name, cause, why, c.cause, c.why)
		}
	}
}

// A mark would cut off a longer text.
func TestTheLongestExplanationFitsIntoAMark(t *testing.T) {
	const most = 256
	huge := insight.Heap{Used: 1023 * mib, Capacity: 1023 * mib, Max: 1023 * mib}
	for _, hits := range []uint64{0, 1} {
		e := evidence{how: "killed", heap: huge, memory: kernel.Memory{Limit: 1023 * mib, Peak: 3000 * mib, Kills: 100, Hits: hits}, group: visible, tmpfs: 1023 * mib}
		if _, why := e.judge(); len(why) > most || !strings.Contains(why, "besides") {
			t.Errorf(`the text has %d bytes: %s; want at most %d, with "besides" in it`, len(why), why, most)
		}
	}
	if _, why := (evidence{how: "killed", heap: huge, memory: kernel.Memory{Limit: 1023 * mib, Peak: 1023 * mib}, group: visible, tmpfs: 1023 * mib}).judge(); len(why) > most {
		t.Errorf("the text has %d bytes: %s; want at most %d", len(why), why, most)
	}
}

func TestTheStatusInAMark(t *testing.T) {
	for status, want := range map[unix.WaitStatus][2]string{0: {"0", ""}, 3 << 8: {"3", ""}, 143 << 8: {"143", ""}, 9: {"", "SIGKILL"}, 6 | 0x80: {"", "SIGABRT"}, 40: {"", "40"}} {
		if e := (evidence{status: status, told: true}); e.exit() != want[0] || e.signal() != want[1] {
			t.Errorf("status %#x: exit code %q and signal %q, want %q", int(status), e.exit(), e.signal(), want)
		}
		if e := (evidence{status: status}); e.exit() != "" || e.signal() != "" {
			t.Errorf("without a status from the kernel, got exit code %q and signal %q, want neither", e.exit(), e.signal())
		}
	}
}
