package insight

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab/marked"
)

// rig is an Insight with a clock and kernel files that the test controls.
type rig struct {
	*testing.T
	*Insight
	reg   *prometheus.Registry
	root  string
	time  time.Time
	log   bytes.Buffer
	marks marked.Marks
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, reg: prometheus.NewRegistry(), root: t.TempDir(), time: time.Date(2026, 11, 20, 16, 45, 0, 0, time.UTC)}
	cfg := DefaultConfig()
	cfg.Root = r.root
	r.Insight = New(cfg, trigger.New(trigger.Config{}, nil, r.reg), r.marks.Add, r.reg, slog.New(slog.NewTextHandler(&r.log, nil)))
	r.Insight.now = func() time.Time { return r.time }
	return r
}

// read reads the lines of one stream.
func (r *rig) read(stream string, lines ...string) {
	var c ul.Classifier
	for _, line := range lines {
		r.Line(stream, []byte(line), c.Classify([]byte(line)))
	}
}

// settle advances the clock until the Insight waits for no further line.
func (r *rig) settle() {
	for range 3 {
		r.time = r.time.Add(2 * time.Second)
		r.CaughtUp()
	}
}

// sample returns an excerpt of a real log from the test data of package pause.
func (r *rig) sample(name string) []string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join("../../line/pause/testdata", name))
	if err != nil {
		r.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// value returns the sum of a metric over the series with the given labels, each in the form
// "name=value". The value of a histogram is its count.
func (r *rig) value(name string, labels ...string) (sum float64) {
	r.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			have := map[string]bool{}
			for _, l := range m.GetLabel() {
				have[l.GetName()+"="+l.GetValue()] = true
			}
			all := true
			for _, l := range labels {
				all = all && have[l]
			}
			if all {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// series returns how many series a metric has.
func (r *rig) series(name string) int {
	r.Helper()
	n, err := testutil.GatherAndCount(r.reg, name)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func (r *rig) want(want float64, name string, labels ...string) {
	r.Helper()
	if got := r.value(name, labels...); got != want {
		r.Errorf("%s%v is %v, want %v", name, labels, got, want)
	}
}

// A stop is passed on once, at the line of its safepoint, with the pauses in it.
func TestEachStopIsHandedOn(t *testing.T) {
	r := newRig(t)
	var stops, pauses int
	r.stopped = func(s *pause.Stop) {
		if stops++; !s.Safepoint || s.WentOn(0) {
			t.Errorf("got the stop %+v, want a safepoint without a stall", s)
		}
		pauses += len(s.Pauses)
	}
	for i, line := range r.sample("g1-jdk25.log") {
		before := stops
		if r.read("gc.log", line); stops-before > 1 || stops > before && !strings.Contains(line, "Safepoint") {
			t.Errorf("line %d passed on %d stops, want at most 1, and none unless the line has a safepoint: %s", i, stops-before, line)
		}
	}
	if stops != 11 || pauses != 11 {
		t.Errorf("got %d stops with %d pauses, want 11 of each", stops, pauses)
	}
}

// If two JVMs write to one file, a safepoint may be joined with pauses of the other JVM.
func TestNoStopOfTwoJVMsInOneFileIsHandedOn(t *testing.T) {
	r := newRig(t)
	stops := 0
	r.stopped = func(*pause.Stop) { stops++ }
	collection := func(n int) {
		r.read("gc.log", fmt.Sprintf("[%d.000s][info][gc] GC(%d) Pause Full (System.gc()) 9M->8M(34M) 1.000ms", n, n),
			fmt.Sprintf(`[%d.000s][info][safepoint] Safepoint "G1CollectFull", Reaching safepoint: 1 ns, At safepoint: 1001000 ns, Total: 1001001 ns`, n))
	}
	for _, n := range []int{500, 0, 501, 1} {
		collection(n)
	}
	was := stops
	if collection(502); stops != was {
		t.Errorf("%d stops were passed on, %d of them after the file was known to be mixed, want none after that", stops, stops-was)
	}
	r.want(5, "ullage_jvm_safepoint_duration_seconds")
}

func TestMetricsOfARealLog(t *testing.T) {
	r := newRig(t)
	r.read("gc.log", r.sample("g1-jdk25.log")...)
	r.settle()
	r.want(11, "ullage_jvm_gc_pause_duration_seconds", "gc=G1")
	r.want(1, "ullage_jvm_gc_pause_duration_seconds", "action=full", "cause=System.gc()")
	r.want(1, "ullage_jvm_gc_pause_duration_seconds", "action=mixed", "cause=G1 Evacuation Pause")
	r.want(1, "ullage_jvm_gc_pause_duration_seconds", "action=remark", "cause=none")
	r.want(11, "ullage_jvm_safepoint_duration_seconds")
	r.want(11, "ullage_jvm_time_to_safepoint_seconds")
	r.want(0, "ullage_jvm_slow_pauses_total")
	r.want(0, "ullage_jvm_stalls_suspected_total")
	if got := r.value("ullage_jvm_gc_cpu_seconds_total"); got < .04 || got > .12 {
		t.Errorf("the CPU time is %v s, want at least .04 and at most .12", got)
	}
	if got := r.value("ullage_jvm_heap_after_gc_bytes", "stream=gc.log"); got < 1<<20 || got > 64<<20 {
		t.Errorf("the heap after collections is %v bytes, want at least 1 MiB and at most 64 MiB", got)
	}
	recent := r.Recent()
	if len(recent) < 11 || recent[0].End.Before(recent[1].End) || recent[0].Stream != "gc.log" {
		t.Errorf("got %d recent stops: %+v; want at least 11 of gc.log, the latest first", len(recent), recent)
	}
}

func TestEveryCollectorHasItsName(t *testing.T) {
	for name, gc := range map[string]string{"z-jdk25.log": "ZGC generational", "z-jdk17.log": "ZGC", "shenandoah-jdk17.log": "Shenandoah", "g1-jdk17.log": "G1"} {
		r := newRig(t)
		r.read("gc.log", "[0.001s][info][gc] Using "+map[string]string{"Z": "The Z Garbage Collector", "S": "Shenandoah", "G": "G1"}[gc[:1]])
		r.read("gc.log", r.sample(name)...)
		r.settle()
		r.want(1, "ullage_jvm_starts_total")
		if r.value("ullage_jvm_gc_pause_duration_seconds", "gc="+gc) == 0 {
			t.Errorf("%s: got no pauses of %s, want at least one", name, gc)
		}
	}
}

// A process that can write to the log can write any name there.
func TestSeriesAreBoundedWhateverTheLogHas(t *testing.T) {
	r := newRig(t)
	for i := range 5000 {
		cause := []string{"System.gc()", "Ergonomics", fmt.Sprint("x", i)}[i%3]
		r.read(fmt.Sprint("s", i%100), fmt.Sprintf("[%d.000s][info][gc] GC(%d) Pause Young%d (%s) 24M->5M(64M) 2.345ms", i, i, i, cause),
			fmt.Sprintf(`[%d.001s][info][safepoint] Safepoint "op%d", Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 3 ns`, i, i),
			fmt.Sprintf("[%d.001s][info][gc] GC(%d) Concurrent y%d 2.345ms", i, i, i))
	}
	for _, name := range []string{"ullage_jvm_gc_pause_duration_seconds", "ullage_jvm_safepoint_duration_seconds", "ullage_jvm_gc_concurrent_duration_seconds", "ullage_jvm_heap_after_gc_bytes"} {
		if n := r.series(name); n == 0 || n > maxSeries+1 {
			t.Errorf("%s has %d series, want 1 to %d", name, n, maxSeries+1)
		}
	}
	r.want(5000, "ullage_jvm_gc_pause_duration_seconds")
	r.want(5000, "ullage_jvm_safepoint_duration_seconds", "operation=other")
	if len(r.streams) > maxStreams {
		t.Errorf("%d streams are followed, want at most %d", len(r.streams), maxStreams)
	}
}

func TestOverheadIsThePartOfTheLastMinute(t *testing.T) {
	r := newRig(t)
	r.read("gc.log", "[2026-11-20T16:44:50.000+0000][info][gc] GC(1) Pause Full (System.gc()) 24M->5M(64M) 3000.000ms")
	r.settle()
	r.want(.05, "ullage_jvm_gc_overhead_ratio", "stream=gc.log")
	r.time = r.time.Add(time.Minute)
	r.settle()
	r.want(0, "ullage_jvm_gc_overhead_ratio", "stream=gc.log")
}

func TestSlowPausesFollowTheTrigger(t *testing.T) {
	r := newRig(t)
	r.slow = func() time.Duration { return 100 * time.Millisecond }
	r.read("gc.log", "[1.000s][info][gc] GC(1) Pause Full (System.gc()) 24M->5M(64M) 110.000ms",
		`[1.001s][info][safepoint] Safepoint "G1CollectFull", Reaching safepoint: 1 ns, At safepoint: 110100000 ns, Total: 110100001 ns`)
	r.want(1, "ullage_jvm_slow_pauses_total")
}

func TestRunEndsWithItsContext(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Insight.Run(ctx); close(ended) }()
	cancel()
	<-ended
}

func BenchmarkLine(b *testing.B) {
	for _, name := range []string{"debug-g1-jdk25.log", "debug-g1-jdk17.log"} {
		b.Run(name, func(b *testing.B) {
			text, err := os.ReadFile(filepath.Join("../../line/pause/testdata", name))
			if err != nil {
				b.Fatal(err)
			}
			in := New(DefaultConfig(), trigger.New(trigger.DefaultConfig(), nil, prometheus.NewRegistry()), func(mark.Mark) {}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(io.Discard, nil)))
			lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
			var c ul.Classifier
			class := c.Classify(lines[0])
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				in.Line("gc.log", lines[i], class)
				if i++; i == len(lines) {
					i = 0
				}
			}
		})
	}
}

// The lines are written by hand in the formats of JDK 8: see package pause. Each pause has several
// lines, and is in the metrics once.
func TestMetricsOfJDK8(t *testing.T) {
	r := newRig(t)
	r.read("gc.log",
		"2026-11-20T16:44:01.000+0000: 1.000: [GC pause (G1 Evacuation Pause) (young)",
		"Desired survivor size 1572864 bytes, new threshold 15 (max 15)",
		", 0.0100000 secs]",
		"   [Parallel Time: 8.0 ms, GC Workers: 4]",
		"   [Eden: 24.0M(24.0M)->0.0B(21.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->8.0M(256.0M)]",
		" [Times: user=0.03 sys=0.01, real=0.01 secs]",
		"2026-11-20T16:44:01.011+0000: 1.011: Total time for which application threads were stopped: 0.0110000 seconds, Stopping threads took: 0.0001000 seconds",
	)
	r.want(8<<20, "ullage_jvm_heap_after_gc_bytes", "stream=gc.log")
	r.read("gc.log",
		"2026-11-20T16:44:02.000+0000: 2.000: [Full GC (System.gc())  24M->2M(256M), 0.9000000 secs]",
		" [Times: user=0.60 sys=0.30, real=0.90 secs]",
		"2026-11-20T16:44:02.901+0000: 2.901: Total time for which application threads were stopped: 0.9010000 seconds, Stopping threads took: 0.0001000 seconds",
		"2026-11-20T16:44:03.000+0000: 3.000: Total time for which application threads were stopped: 0.0001000 seconds, Stopping threads took: 0.0000100 seconds",
		"2026-11-20T16:44:04.000+0000: 4.000: [CMS-concurrent-mark: 0.035/0.050 secs] [Times: user=0.07 sys=0.00, real=0.05 secs]",
	)
	r.settle()
	r.want(1, "ullage_jvm_gc_pause_duration_seconds", "gc=G1", "action=young", "cause=G1 Evacuation Pause")
	r.want(1, "ullage_jvm_gc_pause_duration_seconds", "gc=G1", "action=full", "cause=System.gc()")
	r.want(3, "ullage_jvm_safepoint_duration_seconds")
	r.want(1, "ullage_jvm_gc_concurrent_duration_seconds")
	r.want(2<<20, "ullage_jvm_heap_after_gc_bytes", "stream=gc.log")
	r.want(256<<20, "ullage_jvm_heap_capacity_bytes", "stream=gc.log")
	if user := r.value("ullage_jvm_gc_cpu_seconds_total", "mode=user"); user < 0.699 || user > 0.701 {
		t.Errorf("the CPU time in user mode is %v s, want 0.7", user)
	}
	if recent := r.Recent(); len(recent) != 3 || recent[1].Action != "full" || recent[1].Duration != 901*time.Millisecond {
		t.Errorf(`the recent stops are %+v, want 3, the second with Action "full" and Duration 901 ms`, recent)
	}
}

// The figures of a log become a mark after ten minutes, when another log takes its place, and at the end.
func TestFiguresBecomeMarks(t *testing.T) {
	r := newRig(t)
	begun := r.time
	stop := func() string {
		return fmt.Sprintf(`[%s][%.3fs][info][safepoint] Safepoint "Cleanup", Time since last: 1 ns, Reaching safepoint: 100000 ns, At safepoint: 2900000 ns, Total: 3000000 ns`,
			r.time.Format(ul.TimeLayout), r.time.Sub(begun).Seconds()+1)
	}
	for range 2 {
		r.read("gc.log", stop())
		r.CaughtUp()
		r.time = r.time.Add(time.Minute)
	}
	r.marks.Gives(t)
	r.time = begun.Add(10 * time.Minute)
	r.CaughtUp()
	r.marks.Gives(t, `jvm-figures stream=gc\.log since=2026-11-20T16:45:00\.000\+0000 until=2026-11-20T16:46:00\.000\+0000 span=1m0s stopped=6ms longest=3ms reaching=100us run=1 stops=5:\d+\*2`)
	r.read("gc.log", stop())
	r.read("undated.log", "[1.000s][warning][    ]      7 messages dropped due to async logging", `[3600.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 3M->1M(8M) 2.000ms`)
	r.Finish()
	r.marks.Gives(t,
		`jvm-figures stream=gc\.log since=2026-11-20T16:46:00\.000\+0000 until=2026-11-20T16:55:00\.000\+0000 span=9m0s stopped=3ms longest=3ms reaching=100us run=1 stops=5:\d+`,
		`jvm-figures stream=undated\.log since=(\S+) until=\S+ stopped=2ms longest=2ms heap=1048576 lost=7 run=1 stops=5:\d+`)
	for i := range maxStreams + 1 {
		r.read(fmt.Sprintf("other-%d.log", i), stop())
	}
	if marks := r.marks.Take(); len(marks) == 0 || !strings.Contains(marks[0], "stream=other-") {
		t.Errorf("got the marks %q after %d streams, want marks of the streams that were replaced", marks, maxStreams+1)
	}
}
