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

	"github.com/ullage/ullage/internal/pause"
	"github.com/ullage/ullage/test/lab"
)

// told is what the log of one JVM shows, joined.
type told struct {
	run         pause.Run
	pauses      map[int64][]time.Duration // by the number of the collection
	actions     map[string]int            // pauses
	collections map[string]int            // by action
	heaps       map[int64]pause.Heap      // by the number of the collection
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
			if c.Marks&pause.Cut != 0 {
				r.cut++
			}
			r.allocated += max(0, c.Allocated)
			r.promoted += max(0, c.Promoted)
		},
	})
	for line := range bytes.Lines(log) {
		j.Line(bytes.TrimSuffix(line, newline), 0)
	}
	j.Flush()
	r.run = *j.Run()
	return r
}

func (r *told) count() (n int) {
	for _, p := range r.pauses {
		n += len(p)
	}
	return n
}

// What is read out of the log is what the JVM counts by itself: in the log's own lines of
// safepoints, in its beans, and in the events of its flight recorder.
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
				r.sameSafepoints(log, got)
				r.sameRecording(jdk, recording, got)
				r.sameBeans(jvm.said.String(), got)
				r.sameMetrics(got)
				r.stop()
			})
		}
	})
}

// sameSafepoints compares with the lines of safepoints, read by other means.
func (r *rig) sameSafepoints(log []byte, got *told) {
	r.Helper()
	lines, total := 0, time.Duration(0)
	for line := range strings.Lines(string(log)) {
		if _, rest, ok := strings.Cut(line, "] Safepoint \""); ok {
			_, rest, _ = strings.Cut(rest, " Total: ")
			number, _, _ := strings.Cut(rest, " ns")
			n, err := strconv.Atoi(number)
			if err != nil {
				r.Errorf("%q: %v", line, err)
			}
			lines++
			total += time.Duration(n)
		}
	}
	if lines != got.safepoints || total != got.stopped {
		r.Errorf("%d safepoints of %s, want %d of %s", got.safepoints, got.stopped, lines, total)
	}
	if got.inSafepoint != got.count() {
		r.Errorf("%d of %d pauses are in safepoints", got.inSafepoint, got.count())
	}
	if timed := strings.Count(string(log), ") User="); timed != got.timed {
		r.Errorf("%d pauses have CPU times, want %d", got.timed, timed)
	}
	sum := 0
	for _, n := range got.collections {
		sum += n
	}
	if sum != len(got.heaps) || got.collections[pause.None] > 0 || got.cut > 1 {
		r.Errorf("%d collections, %d are cut, of %d numbers: %v", sum, got.cut, len(got.heaps), got.collections)
	}
}

// sameRecording compares with the pauses of the flight recorder, for the collections that
// it has.
func (r *rig) sameRecording(jdk lab.JDK, recording string, got *told) {
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
	if len(recorded) < len(got.pauses)/2 {
		r.Errorf("the recording has %d collections, the log %d", len(recorded), len(got.pauses))
	}
	differ := 0
	for gc, want := range recorded {
		if len(got.pauses[gc]) != len(want) {
			r.Errorf("GC(%d): pauses %v, recorded %v", gc, got.pauses[gc], want)
			continue
		}
		var a, b time.Duration
		for i := range want {
			a, b = a+got.pauses[gc][i], b+want[i]
		}
		if difference := (a - b).Abs(); difference > 5*time.Millisecond+b/5 {
			r.Logf("GC(%d): %s of pauses, recorded %s", gc, a, b)
			differ++
		}
	}
	if differ > 1+len(recorded)/4 { // those between whose two clocks the JVM lost its CPU
		r.Errorf("%d of %d collections have other pauses than recorded", differ, len(recorded))
	}
}

// sameBeans compares with what GarbageCollectorMXBeans counted. A concurrent cycle, which
// has up to three pauses, may end in the log after the JVM has read its beans.
func (r *rig) sameBeans(said string, got *told) {
	r.Helper()
	sums := map[string]int{} // of several beans
	young := got.actions["young"] + got.actions["mixed"] + got.actions["concurrent start"] + got.actions["prepare mixed"]
	for line := range strings.Lines(said) {
		field := strings.Split(strings.TrimSpace(line), "\t")
		if len(field) != 3 {
			continue
		}
		r.Logf("%q", field)
		n, err := strconv.Atoi(field[1])
		if err != nil {
			r.Fatal(err)
		}
		want, later := -1, 0
		switch field[0] {
		case "Copy", "PS Scavenge", "G1 Young Generation":
			want = young
		case "MarkSweepCompact", "PS MarkSweep", "G1 Old Generation":
			want = got.actions["full"]
		case "G1 Concurrent GC":
			want = got.actions["remark"] + got.actions["cleanup"]
		case "ZGC Cycles":
			want, later = got.collections["garbage collection"], 1
		case "ZGC Minor Cycles":
			want, later = got.collections["minor collection"], 1
		case "ZGC Major Cycles":
			want, later = got.collections["major collection"], 1
		case "Shenandoah Cycles":
			want, later = len(got.heaps), 1
		case "ZGC Pauses", "Shenandoah Pauses", "ZGC Minor Pauses", "ZGC Major Pauses":
			sums["pauses"] += n
		}
		if want >= 0 && (n > want || n < want-later) {
			r.Errorf("%s: %d, the log has %d", field[0], n, want)
		}
	}
	if sum, ok := sums["pauses"]; ok && (sum > got.count() || sum < got.count()-3) {
		r.Errorf("%d pauses, the log has %d", sum, got.count())
	}
}

// sameMetrics compares with the metrics of the sidecar that read the same lines.
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
		"ullage_jvm_gc_pause_seconds_count": got.count(), "ullage_jvm_safepoint_seconds_count": got.safepoints,
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
