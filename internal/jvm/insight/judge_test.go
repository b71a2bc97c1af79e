package insight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
)

// kernelFiles has the totals in the files of the test's kernel, in microseconds.
type kernelFiles struct{ disk, memory, cpu, throttled int }

func (r *rig) kernel(k kernelFiles) {
	r.Helper()
	for name, total := range map[string]int{"io": k.disk, "memory": k.memory, "cpu": k.cpu} {
		r.file("proc/pressure/"+name, fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n", total))
	}
	r.file("proc/17/comm", "java\n")
	r.file("proc/17/cgroup", "0::/kubepods/one\n")
	r.file("proc/18/comm", "sh\n")
	r.file("sys/fs/cgroup/kubepods/one/cpu.stat", fmt.Sprintf("usage_usec 5\nnr_periods 1\nnr_throttled 2\nthrottled_usec %d\n", k.throttled))
}

func (r *rig) file(name, text string) {
	r.Helper()
	path := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// Lines whose time is two seconds after the start of a rig's clock.
const (
	idlePause  = "[2026-11-20T16:45:02.000+0000][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 1500.000ms"
	shortPause = "[2026-11-20T16:45:02.000+0000][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.748ms"
	idleTimes  = "[2026-11-20T16:45:02.000+0000][info][gc,cpu] GC(1) User=0.01s Sys=0.00s Real=1.50s"
	idleSafe   = `[2026-11-20T16:45:02.000+0000][info][safepoint] Safepoint "G1CollectForAllocation", Reaching safepoint: 1 ns, At safepoint: 1500100000 ns, Total: 1500100001 ns`
)

func TestVerdicts(t *testing.T) {
	unevenWorkers := "[2026-11-20T16:45:00.500+0000][info][gc,task] GC(1) Using 8 workers of 8 for evacuation"
	unevenTimes := "[2026-11-20T16:45:02.000+0000][info][gc,cpu] GC(1) User=1.50s Sys=0.00s Real=1.50s"
	idle := []string{idlePause, idleTimes, idleSafe}
	for _, test := range []struct {
		name  string
		lines []string
		after kernelFiles
		want  Verdict
	}{
		{"nothing is known", idle, kernelFiles{}, Unknown},
		{"the disk", idle, kernelFiles{disk: 1_400_000}, Disk},
		{"the disk, for less than half of the time", idle, kernelFiles{disk: 600_000}, Unknown},
		{"memory, which waits for the disk", idle, kernelFiles{disk: 1_400_000, memory: 1_300_000}, Memory},
		{"throttled", idle, kernelFiles{disk: 1_400_000, throttled: 1_300_000, cpu: 1_400_000}, Throttled},
		{"no processor", idle, kernelFiles{cpu: 1_400_000}, CPU},
		{"busy on one of eight workers", []string{unevenWorkers, idlePause, unevenTimes, idleSafe}, kernelFiles{}, ""},
		{"busy on one of eight workers, and no processor", []string{unevenWorkers, idlePause, unevenTimes, idleSafe}, kernelFiles{cpu: 1_400_000}, CPU},
		{"busy", []string{idlePause, unevenTimes, idleSafe}, kernelFiles{disk: 1_400_000}, ""},
		{"long to reach", []string{`[2026-11-20T16:45:02.000+0000][info][safepoint] Safepoint "Cleanup", Reaching safepoint: 1500000000 ns, At safepoint: 1 ns, Total: 1500000001 ns`}, kernelFiles{}, Reaching},
		{"long to reach, and the disk", []string{`[2026-11-20T16:45:02.000+0000][info][safepoint] Safepoint "Cleanup", Reaching safepoint: 1500000000 ns, At safepoint: 1 ns, Total: 1500000001 ns`}, kernelFiles{disk: 1_400_000}, Disk},
		{"an operation", []string{`[2026-11-20T16:45:02.000+0000][info][safepoint] Safepoint "ThreadDump", Reaching safepoint: 1 ns, At safepoint: 1500000000 ns, Total: 1500000001 ns`}, kernelFiles{}, Operation},
		{"the JVM waits after the pause, to write its line", []string{shortPause, idleSafe}, kernelFiles{}, Unknown},
		{"the JVM waits for the disk after the pause, to write its line", []string{shortPause, idleSafe}, kernelFiles{disk: 1_400_000}, Disk},
		{"a collection without the lines of its pause", []string{idleSafe}, kernelFiles{disk: 1_400_000}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.kernel(kernelFiles{})
			r.judge.step(r.time)
			r.time = r.time.Add(2 * time.Second)
			r.read("gc.log", test.lines...)
			r.kernel(test.after)
			r.judge.step(r.time)
			sum := 0.0
			if test.want != "" {
				r.want(1, "ullage_jvm_stalls_suspected_total", "verdict="+string(test.want))
				sum = 1
			}
			r.want(sum, "ullage_jvm_stalls_suspected_total")
			if recent := r.Recent(); len(recent) != 1 || recent[0].Verdict != test.want {
				t.Errorf("the recent stops are %+v, want 1 with the verdict %q", recent, test.want)
			}
			if got := strings.Contains(r.log.String(), "verdict="+string(test.want)); test.want != "" && !got {
				t.Errorf("the log is %q, want the verdict in it", r.log.String())
			}
			var marks []string
			if test.want != "" {
				marks = []string{`jvm-stalled stream=gc\.log ended=2026-11-20T16:45:02\.000\+0000 seconds=1\.500 verdict=` + string(test.want) + `( why=".* of 2\.0 s.*")?`}
			}
			r.marks.Gives(t, marks...)
		})
	}
}

// A JVM that starts after its sidecar is looked up when it stops for the first time, not half a minute later. A log
// that shows one start after another makes the sidecar look JVMs up at most once in five seconds.
func TestAJVMIsLookedUpWhenItFirstStops(t *testing.T) {
	r := newRig(t)
	pass := func(d time.Duration) { r.time = r.time.Add(d); r.judge.step(r.time) }
	known := func(want int, when string) {
		t.Helper()
		if got := len(r.judge.sampler.processes); got != want {
			t.Errorf("%s, %d JVMs are known, want %d", when, got, want)
		}
	}
	r.judge.step(r.time)
	r.kernel(kernelFiles{})
	pass(10 * time.Second)
	known(0, "before it stops")
	r.read("gc.log", idlePause, idleTimes, idleSafe)
	pass(time.Second)
	known(1, "a second after it stopped")

	r.file("proc/19/comm", "java\n")
	r.read("other.log", idlePause, idleTimes, idleSafe)
	pass(time.Second)
	known(1, "a second after another stopped")
	pass(4 * time.Second)
	known(2, "five seconds later")

	r.file("proc/21/comm", "java\n")
	r.read("gc.log", idlePause, idleTimes, idleSafe)
	pass(10 * time.Second)
	known(2, "after another stop of a known JVM")
	pass(20 * time.Second)
	known(3, "half a minute after the last look")
}

// On a busy node, some tasks always wait, so a usual wait does not explain a stop. This is also true just after another
// JVM was found.
func TestWhatIsUsualIsNoCulprit(t *testing.T) {
	r := newRig(t)
	r.time = r.time.Add(-20 * time.Second)
	total := 0
	for second := range 22 {
		if second == 18 {
			r.file("proc/19/comm", "java\n")
			r.judge.sampler.appeared.Store(true)
		}
		r.kernel(kernelFiles{disk: total})
		r.judge.step(r.time)
		total += 900_000 // of each second, tasks wait for 0.9 s
		r.time = r.time.Add(time.Second)
	}
	r.read("gc.log", idlePause, idleTimes, idleSafe)
	r.judge.step(r.time)
	r.want(1, "ullage_jvm_stalls_suspected_total", "verdict=unknown")
}

// A stop that is read late, after a backlog, is not judged by samples taken after it.
func TestAnOldStopIsNotJudgedBySamples(t *testing.T) {
	r := newRig(t)
	r.kernel(kernelFiles{})
	r.judge.step(r.time)
	r.time = r.time.Add(time.Hour)
	r.kernel(kernelFiles{disk: 1 << 40})
	r.judge.step(r.time)
	r.read("gc.log", idlePause, idleTimes, idleSafe)
	r.judge.step(r.time)
	r.want(1, "ullage_jvm_stalls_suspected_total", "verdict=unknown")
}

// A stop is suspected only if it is at least as long as the floor.
func TestTheFloorOfAStall(t *testing.T) {
	for floor, want := range map[time.Duration]float64{0: 1, 1500 * time.Millisecond: 1, 1501 * time.Millisecond: 0} {
		r := newRig(t)
		r.judge.floor = pause.Floor(floor)
		r.read("gc.log", idlePause, idleTimes, idleSafe)
		r.time = r.time.Add(3 * time.Second)
		r.judge.step(r.time)
		r.want(want, "ullage_jvm_stalls_suspected_total")
	}
}

func TestHostileKernelFilesAreNotKnown(t *testing.T) {
	r := newRig(t)
	if err := os.MkdirAll(filepath.Join(r.root, "proc/pressure"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(r.root, "proc/pressure/io"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.file("proc/pressure/memory", "some total=99999999999999999999\n")
	r.file("proc/pressure/cpu", strings.Repeat("some ", 10_000))
	if got := (kernelCounters{root: r.root}).pressure("proc/pressure", ""); got != unknownCounts {
		t.Errorf("got the counters %v, want them unknown", got)
	}
	r.judge.step(r.time)
}

func FuzzPressure(f *testing.F) {
	f.Add([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=9\n"))
	f.Add([]byte("usage_usec 5\nthrottled_usec 12\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"io.pressure", "cpu.stat"} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		k := kernelCounters{root: "/"}
		p := k.pressure(dir, ".pressure")
		lost, periods := k.throttled(dir)
		for _, d := range slices.Concat(p.some[:], p.full[:], []time.Duration{lost, time.Duration(periods)}) {
			if d < -1 {
				t.Errorf("a counter is %d, want at least -1", d)
			}
		}
	})
}

// A person who reads a container's log may not have the documentation, so the hint must not name
// one of its files.
func TestWarningOfAStallLeadsToAPageThatCanBeOpened(t *testing.T) {
	r := newRig(t)
	r.kernel(kernelFiles{})
	r.judge.step(r.time)
	r.time = r.time.Add(2 * time.Second)
	r.read("gc.log", idlePause, idleTimes, idleSafe)
	r.judge.step(r.time)
	if got := r.log.String(); !strings.Contains(got, "a stop of the JVM seems to be a stall") || !strings.Contains(got, `hint="https://`) {
		t.Errorf("logged\n%swant a warning whose hint begins with a URL", got)
	}
}
