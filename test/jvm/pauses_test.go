package jvm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// told has the events of one JVM, as joined from its log.
type told struct {
	run         pause.Run
	pauses      map[int64][]time.Duration // by the number of the collection
	actions     map[string]int            // number of pauses, by action
	collections map[string]int            // number of collections, by action
	heaps       map[int64]pause.Heap      // by the number of the collection
	ends        []time.Time               // of collections
	cut         int
	timed       int
	safepoints  int
	inSafepoint int // pauses
	stopped     time.Duration
	allocated   int64
	promoted    int64
}

func joined(log []byte) *told {
	r := &told{pauses: map[int64][]time.Duration{}, actions: map[string]int{}, collections: map[string]int{}, heaps: map[int64]pause.Heap{}}
	j := pause.NewJoiner(pause.Handlers{
		Run: func(run *pause.Run) { r.run = *run },
		Pause: func(p *pause.GCPause) {
			r.pauses[p.GC] = append(r.pauses[p.GC], p.Duration)
			r.actions[p.Action]++
		},
		Timed: func(*pause.GCPause) { r.timed++ },
		Stop: func(s *pause.Stop) {
			if s.Safepoint {
				r.safepoints++
				r.stopped += s.Duration
				r.inSafepoint += len(s.Pauses)
			}
		},
		Collection: func(c *pause.Collection) {
			r.collections[c.Action]++
			r.heaps[c.GC] = c.Heap
			r.ends = append(r.ends, c.End.Wall)
			if c.Marks&pause.Cut != 0 {
				r.cut++
			}
			r.allocated += max(0, c.Allocated)
			r.promoted += max(0, c.Promoted)
		},
	})
	for line := range bytes.Lines(log) {
		j.Line(bytes.TrimSuffix(line, newline), ul.Class{})
	}
	j.Flush()
	r.run = *j.Run()
	return r
}

// endedSince returns how many collections ended at or after a time.
func (r *told) endedSince(at time.Time) (n int) {
	for _, end := range r.ends {
		if !end.Before(at) {
			n++
		}
	}
	return n
}

func (r *told) count() (n int) {
	for _, p := range r.pauses {
		n += len(p)
	}
	return n
}

// The pauses that are read from the log agree with the JVM's own counts: in the log's safepoint lines, in
// its beans, and in the events of its flight recorder. The figures of 'ullage report' for that log agree
// too.
func TestPausesAreThoseThatTheJVMCounts(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		collectors, err := Collectors(jdk)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range collectors {
			t.Run(c.Name, func(t *testing.T) {
				r := newRig(t, jdk, "64m")
				recording := filepath.Join(t.TempDir(), "recording.jfr")
				flags := append(r.outputs(Output{Selection: "gc*=info,safepoint=info", File: "gc.log"}), "-XX:StartFlightRecording:filename="+recording)
				jvm := r.start(append(flags, c.Flags...), "Tally", "400")
				if err := jvm.Wait(patience); err != nil {
					t.Fatal(err)
				}
				r.emptied()
				log := r.persisted("gc.log")
				got := joined(log)
				t.Logf("%+v", *got)
				recorded, counted := r.recorded(jdk, recording), tallyOf(t, jvm.said.String())
				r.sameSafepoints(log, got)
				r.sameRecording(recorded, got)
				r.sameBeans(counted, got)
				r.sameMetrics(got)
				r.stop()
				shown := r.reported()
				t.Logf("%+v", *shown)
				shown.hasSafepoints(t, log)
				shown.hasPauses(t, log)
				shown.hasRecording(t, recorded, got)
				shown.hasBeans(t, counted, got)
			})
		}
	})
}

// safepointLines counts the safepoint lines and adds up their times.
func safepointLines(t *testing.T, log []byte) (lines int, total time.Duration) {
	t.Helper()
	for line := range strings.Lines(string(log)) {
		if _, rest, ok := strings.Cut(line, " application threads were stopped: "); ok { // before JDK 13
			number, _, _ := strings.Cut(rest, " ")
			stopped, err := time.ParseDuration(number + "s")
			if err != nil {
				t.Errorf("%q: %v", line, err)
			}
			lines++
			total += stopped
		}
		if _, rest, ok := strings.Cut(line, "] Safepoint \""); ok {
			_, rest, _ = strings.Cut(rest, " Total: ")
			number, _, _ := strings.Cut(rest, " ns")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Errorf("%q: %v", line, err)
			}
			lines++
			total += time.Duration(n)
		}
	}
	return lines, total
}

// sameSafepoints compares the joined events with the safepoint lines, which it parses
// independently.
func (r *rig) sameSafepoints(log []byte, got *told) {
	r.Helper()
	lines, total := safepointLines(r.T, log)
	if lines != got.safepoints || total != got.stopped {
		r.Errorf("%d safepoints of %s, want %d of %s", got.safepoints, got.stopped, lines, total)
	}
	if got.inSafepoint != got.count() {
		r.Errorf("%d of %d pauses are in safepoints, want all", got.inSafepoint, got.count())
	}
	if timed := strings.Count(string(log), ") User="); timed != got.timed {
		r.Errorf("%d pauses have CPU times, want %d", got.timed, timed)
	}
	sum := 0
	for _, n := range got.collections {
		sum += n
	}
	if sum != len(got.heaps) || got.collections[pause.None] > 0 || got.cut > 1 {
		r.Errorf("%d collections, %d of them cut, with %d numbers: %v; want one collection for each number, each with an action, and at most 1 cut", sum, got.cut, len(got.heaps), got.collections)
	}
}

// recorded returns the pauses that the flight recorder has, by the number of the collection.
func (r *rig) recorded(jdk lab.JDK, recording string) map[int64][]time.Duration {
	r.Helper()
	text, err := exec.Command(filepath.Join(jdk.Home, "bin", "jfr"), "print", "--json", "--events", "jdk.GCPhasePause", recording).Output()
	if err != nil {
		r.Fatal(err)
	}
	var read struct {
		Recording struct {
			Events []struct {
				Values struct {
					GC       int64 `json:"gcId"`
					Duration string
				}
			}
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		r.Fatal(err)
	}
	recorded := map[int64][]time.Duration{}
	for _, e := range read.Recording.Events {
		d, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(e.Values.Duration, "PT")))
		if err != nil {
			r.Fatal(err)
		}
		recorded[e.Values.GC] = append(recorded[e.Values.GC], d)
	}
	return recorded
}

// sameRecording compares the pauses with the pauses of the flight recorder, for the collections in the recording. The
// two differ if the JVM lost its CPU between reading the two clocks. Only a few collections may differ. They are
// removed from recorded.
func (r *rig) sameRecording(recorded map[int64][]time.Duration, got *told) {
	r.Helper()
	if len(recorded) < len(got.pauses)/2 {
		r.Errorf("the recording has %d collections, want at least half of the %d in the log", len(recorded), len(got.pauses))
	}
	differ := 0
	for gc, want := range recorded {
		if len(got.pauses[gc]) != len(want) {
			r.Errorf("GC(%d): got pauses %v, want as many as recorded: %v", gc, got.pauses[gc], want)
			continue
		}
		var a, b time.Duration
		for i := range want {
			a, b = a+got.pauses[gc][i], b+want[i]
		}
		if difference := (a - b).Abs(); difference > 5*time.Millisecond+b/5 {
			r.Logf("GC(%d): %s of pauses, recorded %s", gc, a, b)
			differ++
			delete(recorded, gc)
		}
	}
	if all := len(recorded) + differ; differ > 1+all/4 {
		r.Errorf("%d of %d collections have other pauses than recorded, want at most a quarter and one more", differ, all)
	}
}

// bean is the name and the count of a GarbageCollectorMXBean.
type bean struct {
	name string
	n    int
}

// tally is the output of Tally.
type tally struct {
	asked time.Time
	beans []bean
}

func tallyOf(t *testing.T, said string) (all tally) {
	t.Helper()
	for line := range strings.Lines(said) {
		field := strings.Split(strings.TrimSpace(line), "\t")
		if len(field) != 3 {
			continue
		}
		t.Logf("%q", field)
		n, err := strconv.Atoi(field[1])
		if err != nil {
			t.Fatal(err)
		}
		if field[0] == "asked" {
			all.asked = time.UnixMilli(int64(n))
			continue
		}
		all.beans = append(all.beans, bean{field[0], n})
	}
	return all
}

// sameBeans compares the joined events with the counts of the GarbageCollectorMXBeans. According to the log, a
// concurrent cycle, which has up to three pauses, may end after the JVM has read its beans. On a busy machine,
// other collections may too.
func (r *rig) sameBeans(counted tally, got *told) {
	r.Helper()
	after := 1 + got.endedSince(counted.asked)
	sums := map[string]int{} // of several beans
	young := got.actions["young"] + got.actions["mixed"] + got.actions["concurrent start"] + got.actions["prepare mixed"]
	for _, b := range counted.beans {
		want, later := -1, 0
		switch b.name {
		case "Copy", "PS Scavenge", "G1 Young Generation":
			want = young
		case "MarkSweepCompact", "PS MarkSweep", "G1 Old Generation":
			want = got.actions["full"]
		case "G1 Concurrent GC":
			want = got.actions["remark"] + got.actions["cleanup"]
		case "ZGC Cycles":
			want, later = got.collections["garbage collection"], after
		case "ZGC Minor Cycles":
			want, later = got.collections["minor collection"], after
		case "ZGC Major Cycles":
			want, later = got.collections["major collection"], after
		case "Shenandoah Cycles":
			want, later = len(got.heaps), after
		case "ZGC Pauses", "Shenandoah Pauses", "ZGC Minor Pauses", "ZGC Major Pauses":
			sums["pauses"] += b.n
		}
		if want >= 0 && (b.n > want || b.n < want-later) {
			r.Errorf("%s: got %d, want %d as in the log, minus at most the collections that ended later", b.name, b.n, want)
		}
	}
	if sum, ok := sums["pauses"]; ok && (sum > got.count() || sum < got.count()-3*after) {
		r.Errorf("the beans have %d pauses, want %d as in the log, minus at most the pauses of collections that ended later", sum, got.count())
	}
}

// sameMetrics compares the joined events with the metrics of the sidecar that read the same lines.
func (r *rig) sameMetrics(got *told) {
	r.Helper()
	_, text, err := r.side.Get("/metrics")
	if err != nil {
		r.Fatal(err)
	}
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		series, value := line[:max(0, strings.LastIndexByte(line, ' '))], line[strings.LastIndexByte(line, ' ')+1:]
		name, _, _ := strings.Cut(series, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			sums[name] += v
		}
	}
	for name, want := range map[string]int{
		"ullage_jvm_gc_pause_duration_seconds_count": got.count(), "ullage_jvm_safepoint_duration_seconds_count": got.safepoints,
		"ullage_jvm_time_to_safepoint_seconds_count": got.safepoints, "ullage_jvm_starts_total": 1,
	} {
		if sums[name] != float64(want) {
			r.Errorf("%s is %v, want %d", name, sums[name], want)
		}
	}
	if label := fmt.Sprintf(`gc=%q`, string(got.run.Collector)); got.count() > 0 && !strings.Contains(text, label) {
		r.Errorf("no series has %s", label)
	}
}
