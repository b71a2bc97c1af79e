package jvm

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// timed is a line with its time, and the number of the JVM that wrote it.
type timed struct {
	Time time.Time
	Run  int
	Text string
}

// HotSpot's default decorators have no date. `ullage logs` computes the time of each line from its
// uptime, even across a restart of the JVM in the same file. A second output has the dates.
func TestTimesOfDefaultDecorators(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m", "--segment-bytes", "4Ki")
		file := filepath.Join(r.source, "gc.log")
		var want []timed
		for run, name := range []string{"first.log", "second.log"} {
			one := Output{Selection: "gc*=debug", File: file, Decorations: "uptime,level,tags", Options: "filecount=1,filesize=0"}
			two := Output{Selection: "gc*=debug", File: filepath.Join(r.truth, name), Decorations: "time,uptime,level,tags"}
			r.run([]string{one.Flag(), two.Flag(), "-XX:+UseSerialGC", "-Xmn2m"}, "Churn", "2500", "300")
			want = append(want, r.dates(name, run+1)...)
		}
		r.emptied()
		r.stop()
		r.closeTo(r.objects(), want)
	})
}

// JVMs are restarted after pauses, within one segment, and the sidecar is killed in one of the pauses. There are too
// few segments to date the lines; the seek file has more times.
func TestTimesOverAPauseAndAKill(t *testing.T) {
	const pause = 7 * time.Second // longer than closeTo allows, and longer than the silence after which the seek file gets an entry
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		file := filepath.Join(r.source, "gc.log")
		var want []timed
		for run, name := range []string{"first.log", "second.log", "third.log"} {
			one := Output{Selection: "gc*=debug", File: file, Decorations: "uptime,level,tags", Options: "filecount=1,filesize=0"}
			two := Output{Selection: "gc*=debug", File: filepath.Join(r.truth, name), Decorations: "time,uptime,level,tags"}
			r.run([]string{one.Flag(), two.Flag(), "-XX:+UseSerialGC", "-Xmn2m"}, "Churn", "2500", "300")
			want = append(want, r.dates(name, run+1)...)
			if run < 2 {
				r.emptied()
				time.Sleep(pause)
			}
			if run == 1 {
				r.side.Kill()
				r.startSidecar()
			}
		}
		r.emptied()
		r.stop()
		r.closeTo(r.objects(), want)
	})
}

// dates returns the records of a second output with their dates.
func (r *rig) dates(name string, run int) (lines []timed) {
	r.Helper()
	for line := range bytes.Lines(r.written(name)) {
		var rec ul.Record
		rec.Parse(bytes.TrimSuffix(line, newline))
		if when, ok := rec.When(); ok {
			lines = append(lines, timed{when, run, string(rec.Message)})
		}
	}
	return lines
}

// objects returns the records that `ullage logs --json` prints of all that was persisted.
func (r *rig) objects() (lines []timed) {
	r.Helper()
	out, err := exec.Command(program, "logs", "--json", r.dest).Output()
	if err != nil {
		r.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var o struct {
			timed
			Uptime *float64
		}
		if err := json.Unmarshal(line, &o); err != nil {
			r.Fatalf("%s: %v", line, err)
		}
		if o.Uptime != nil {
			lines = append(lines, o.timed)
		}
	}
	return lines
}

// closeTo requires that the times of lines are close to their dates: a busy machine may take 5 s to
// persist a line.
func (r *rig) closeTo(got, want []timed) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%d records, want %d", len(got), len(want))
	}
	var off []time.Duration
	for i := range want {
		off = append(off, got[i].Time.Sub(want[i].Time).Abs())
		if got[i].Text != want[i].Text || got[i].Run != want[i].Run || off[i] > 5*time.Second {
			r.Fatalf("record %d: %v, want %v", i, got[i], want[i])
		}
	}
	slices.Sort(off)
	r.Logf("%d records are off by %s in the median, %s at most", len(off), off[len(off)/2], off[len(off)-1])
}
