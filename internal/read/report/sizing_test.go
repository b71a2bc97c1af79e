package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/report/view"
)

const mib = 1 << 20

// serial returns the log of a JVM with a heap of 300 MiB, including an old generation of 200 MiB. Its young
// collections take 2 % of the time. Every 900 s, a full collection takes 10 s and leaves 100 MiB in use. The other
// 100 MiB of the old generation are room for promotion and are nearly full by then.
func serial(hours int) string {
	var log strings.Builder
	for _, init := range []string{"Version: 25.0.3+9-LTS (release)", "CPUs: 2 total, 2 available", "Heap Max Capacity: 300M"} {
		log.WriteString(logged(0, "gc,init", init))
	}
	log.WriteString(logged(0, "gc", "Using Serial"))
	old := 100
	for gc := range hours * 360 {
		second := 10*gc + 10
		if gc%90 == 89 {
			fmt.Fprint(&log, logged(second, "gc,heap", fmt.Sprintf("GC(%d) DefNew: 1024K(102400K)->0K(102400K)", gc)),
				logged(second, "gc,heap", fmt.Sprintf("GC(%d) Tenured: %dK(204800K)->102400K(204800K)", gc, old<<10)),
				logged(second, "gc", fmt.Sprintf("GC(%d) Pause Full (Allocation Failure) %dM->100M(300M) 10000.000ms", gc, old+1)))
			old = 100
			continue
		}
		fmt.Fprint(&log, logged(second, "gc,heap", fmt.Sprintf("GC(%d) DefNew: 102400K(102400K)->0K(102400K)", gc)),
			logged(second, "gc,heap", fmt.Sprintf("GC(%d) Tenured: %dK(204800K)->%dK(204800K)", gc, old<<10, (old+1)<<10)),
			logged(second, "gc", fmt.Sprintf("GC(%d) Pause Young (Allocation Failure) %dM->%dM(300M) 200.000ms", gc, old+100, old+1)))
		old++
	}
	return log.String()
}

func logged(second int, tags, message string) string {
	return fmt.Sprintf("[%d.000s][info][%s] %s\n", second, tags, message)
}

// The expected values: young collections cost 1 % for promoted objects, as full ones take 100 ms for each MiB, and
// 1 % × 300 / size for the others. Full collections cost 10 s / 900 s × 100 / (2/3 size − 100). No
// heap size brings the cost down to 1 %.
func TestTheSizeOfAHeapFollowsFromWhatCollectionsTake(t *testing.T) {
	r := reportOn(t, Config{}, write(t, "gc.log", serial(30)))
	z := r.Runs[0].Sizing
	if z == nil || z.Refused != "" || z.Live != 100*mib || z.Now != 300*mib || z.Cycles != 120 || math.Abs(*z.Overhead-0.031) > 0.0005 {
		t.Fatalf("the sizing is %+v, want 100 MiB live, 300 MiB now, 120 cycles and an overhead of about 0.031", z)
	}
	for _, c := range append(slices.Clone(z.Others), view.ForOverhead{Overhead: z.Target, Max: z.Max}) {
		size := c.Max / mib / 1.035
		if got := 0.01 + 0.01*300/size + 100.0/90*0.01*100/(size*2/3-100); got > c.Overhead*1.01 || got < c.Overhead*0.93 {
			t.Errorf("%.0f MiB for %.1f %%: collections take %.2f %% there, want %.2f to %.2f %%", size, 100*c.Overhead, 100*got, 93*c.Overhead, 101*c.Overhead)
		}
	}
	if len(z.Others) != 1 || z.Container < z.Max*1.05+192*mib {
		t.Errorf("the sizing is %+v, want 1 in Others and a Container of at least %.0f bytes", z, z.Max*1.05+192*mib)
	}
	first := r.Advice[0]
	if !strings.HasPrefix(first.Text, "Give the JVM -Xms544m -Xmx544m, and its container about 763 MiB") || !strings.Contains(first.Evidence, "Live set 100 MiB at its peak in 1.2 d, after 120 old cycles") || !strings.HasSuffix(first.Evidence, "Confidence is good.") {
		t.Errorf("the first advice is %+v, want a heap of 544m in a container of 763 MiB, for a live set of 100 MiB after 120 old cycles, with good confidence", first)
	}
}

// If a young collection may not find room for the objects that it promotes, HotSpot does a full collection instead, and
// keeps doing so. The live data is 100 MiB, and the old generation has two thirds of the heap.
func TestAHeapHasRoomForWhatOneYoungCollectionPromotes(t *testing.T) {
	const usual = 214 // what 5 % of the time needs
	log := serial(30)
	start, rest, _ := strings.Cut(log, "Pause Full")
	for _, c := range []struct {
		name     string
		promoted int // MiB, by one young collection
		first    bool
		want     float64 // MiB
	}{
		{"as much as all others", 1, false, usual},
		{"80 MiB", 80, false, (100 + 80) * 3 / 2},
		{"120 MiB: the old generation has room for the whole young generation before that", 120, false, 100 * 3},
		{"80 MiB before the first old cycle, when the JVM loads what lives: the old generation was empty", 80, true, usual},
	} {
		t.Run(c.name, func(t *testing.T) {
			jumps := func(log string) string {
				return strings.Replace(log, "Tenured: 102400K(204800K)->103424K", fmt.Sprintf("Tenured: 102400K(204800K)->%dK", (100+c.promoted)<<10), 1)
			}
			begin, end := start, jumps(rest)
			if c.first {
				begin, end = jumps(start), rest
			}
			z := reportOn(t, Config{}, write(t, "gc.log", begin+"Pause Full"+end)).Runs[0].Sizing
			if got := z.Others[0].Max / mib / 1.035; got < c.want || got > c.want+8 {
				t.Errorf("%.0f MiB for 5 %%, want %.0f to %.0f", got, c.want, c.want+8)
			}
		})
	}
}

// A heap size that may be wrong is not shown.
func TestNoSizeOfAHeapIsBetterThanAWrongOne(t *testing.T) {
	log, replaced := serial(2), strings.ReplaceAll
	for _, c := range []struct{ name, log, why string }{
		{"a short log", log[:strings.Index(log, "[300.000s]")], "of the JVM: at least 10 in at least 10.0 min are needed"},
		{"a log without old cycles", replaced(log, "Pause Full", "Pause Young"), "there was no old cycle"},
		{"a log with a loss", log + "[7300.000s][warning][] " + "     7 messages dropped due to async logging\n", "the log is not complete"},
		{"a JVM with flags for its young generation", logged(0, "arguments", "jvm_args: -Xmx300m -Xmn100m") + log, "-Xmn100m sets its own size for the young generation"},
		{"a heap that was changed at a restart", log + replaced(log, "Heap Max Capacity: 300M", "Heap Max Capacity: 400M"), "was changed at a restart"},
		{"a log without the old generation", replaced(log, "Tenured", "Other"), "the log does not show the old generation"},
		{"a collector without a rule", replaced(log, "Using Serial", "Using Concurrent Mark Sweep"), "there is a rule only for"},
		{"a heap that is nearly full of what lives", replaced(replaced(log, "(204800K)", "(102400K)"), "(300M)", "(150M)"), "live objects nearly fill the heap"},
		{"collections that no heap makes rare enough", replaced(log, " 200.000ms", " 6000.000ms"), "four times the room would not be enough"},
		{"a leak", leak(), "keeps growing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reportOn(t, Config{}, write(t, "gc.log", c.log))
			z := r.Runs[0].Sizing
			if z == nil || !strings.Contains(z.Refused, c.why) || z.Max != 0 || z.Container != 0 || len(z.Others) != 0 {
				t.Fatalf("%+v, want no size because %s", z, c.why)
			}
			last := r.Advice[len(r.Advice)-1]
			if !strings.HasPrefix(last.Text, "No heap size is recommended: "+z.Refused) {
				t.Errorf("the last advice is %+v, want no heap size, as %s", last, z.Refused)
			}
		})
	}
}

// leak is a log in which each full collection leaves more in use.
func leak() string {
	var log strings.Builder
	for gc := range 100 {
		fmt.Fprint(&log, logged(60*gc, "gc,heap", fmt.Sprintf("GC(%d) Tenured: 102400K(204800K)->%dK(204800K)", gc, (50+gc)<<10)),
			logged(60*gc, "gc", fmt.Sprintf("GC(%d) Pause Full (Allocation Failure) 200M->%dM(300M) 50.000ms", gc, 50+gc)))
	}
	return log.String()
}

// The logs are of JVMs on a busy machine in which two threads keep replacing 32 MiB of live objects. The numbers
// are the share of the process's CPU time that the collectors took. Concurrent work is counted by its duration,
// which is an upper bound. For Parallel, no size is right: most of its work is the copying of promoted objects.
func TestWhatCollectionsTookInRealLogs(t *testing.T) {
	for _, c := range []struct {
		name   string
		took   float64
		cycles uint64
		why    string // why there is no size; empty: there is one
	}{
		{"serial", 0.0186, 2, ""},
		{"parallel", 0.0294, 2, "four times the room would not be enough"},
		{"g1", 0.0180, 2, ""},
		{"z", 0.0556, 7, "four times the room would not be enough"},
		{"shenandoah", 0.0380, 18, "four times the room would not be enough"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reportOn(t, Config{SizingWindow: time.Second}, "testdata/sizing-"+c.name+"-jdk25.log.gz")
			z := r.Runs[0].Sizing
			if *z.Overhead < c.took/1.5 || *z.Overhead > 3*c.took {
				t.Errorf("overhead %.4f, want between 1/1.5 and 3 times %.4f", *z.Overhead, c.took)
			}
			if z.Live < 30*mib || z.Live > 90*mib || z.Cycles != c.cycles {
				t.Errorf("%.0f MiB live after %d old cycles, want 32 MiB, plus objects that are dead but not collected yet, at most 90 MiB in all, after %d", z.Live/mib, z.Cycles, c.cycles)
			}
			if (z.Refused == "") != (c.why == "") || !strings.Contains(z.Refused, c.why) || c.why == "" && z.Max < 1.3*z.Live {
				t.Errorf("%.0f MiB, %q; want %q", z.Max/mib, z.Refused, c.why)
			}
			if first := reportOn(t, Config{}, "testdata/sizing-"+c.name+"-jdk25.log.gz").Runs[0].Sizing; first.Max != 0 || !strings.Contains(first.Refused, "are needed") {
				t.Errorf("%+v, want no size from less than ten minutes", first)
			}
		})
	}
}
