package jvm

import (
	"encoding/json"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shown is the content of an 'ullage report' on the log of one JVM.
type shown struct {
	Complete bool
	Totals   struct {
		Stops       int
		Paused      float64 `json:"paused_seconds"`
		Collections int
		Full        int `json:"full_collections"`
	}
	Distributions []struct {
		Name  string
		Count int
		Sum   float64 `json:"sum_seconds"`
	}
}

// pauses returns the number of the collector's pauses in the report, and their sum.
func (s *shown) pauses() (n int, sum time.Duration) {
	for _, d := range s.Distributions {
		if d.Name == "pauses of the collector" {
			return d.Count, time.Duration(math.Round(d.Sum * 1e9))
		}
	}
	return 0, 0
}

// reported runs 'ullage report' on the persisted log.
func (r *rig) reported() *shown {
	r.Helper()
	text, err := exec.Command(program, "report", "--json", r.dest).Output()
	if err != nil {
		r.Fatal(err)
	}
	var s shown
	if err := json.Unmarshal(text, &s); err != nil {
		r.Fatal(err)
	}
	if !s.Complete {
		r.Error("the report is not complete, want a complete one")
	}
	return &s
}

// hasSafepoints compares the stops in the report with the safepoint lines.
func (s *shown) hasSafepoints(t *testing.T, log []byte) {
	t.Helper()
	lines, total := safepointLines(t, log)
	stopped := time.Duration(math.Round(s.Totals.Paused * 1e9))
	if lines != s.Totals.Stops || (stopped-total).Abs() > time.Microsecond {
		t.Errorf("the report has %d stops of %s, want %d of %s", s.Totals.Stops, stopped, lines, total)
	}
}

// pauseLine matches a line with the number of the collection, and the milliseconds of its pause at the end.
var pauseLine = regexp.MustCompile(`(?m)\] GC\(\d+\) .*Pause .* (\d+)\.(\d{3})ms$`)

// hasPauses compares the pauses in the report with their lines in the log, which it parses
// independently.
func (s *shown) hasPauses(t *testing.T, log []byte) {
	t.Helper()
	lines, total := 0, time.Duration(0)
	for _, m := range pauseLine.FindAllSubmatch(log, -1) {
		micros, err := strconv.Atoi(string(m[1]) + string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		lines++
		total += time.Duration(micros) * time.Microsecond
	}
	if n, sum := s.pauses(); n != lines || (sum-total).Abs() > time.Microsecond {
		t.Errorf("the report has %d pauses of %s, want %d of %s", n, sum, lines, total)
	}
}

// hasRecording compares the pauses in the report with the pauses of the flight recorder. For collections that the
// recording lacks, it adds the pauses in the log.
func (s *shown) hasRecording(t *testing.T, recorded map[int64][]time.Duration, got *told) {
	t.Helper()
	want, total := 0, time.Duration(0)
	for _, pauses := range recorded {
		want += len(pauses)
		for _, p := range pauses {
			total += p
		}
	}
	slack := 50*time.Millisecond + total/5 // the JVM may lose its CPU between its two clocks
	for gc, pauses := range got.pauses {
		if _, ok := recorded[gc]; ok {
			continue
		}
		want += len(pauses)
		for _, p := range pauses {
			total += p
		}
	}
	n, sum := s.pauses()
	t.Logf("%d pauses of %s are recorded, %d of %s reported", want, total, n, sum)
	if n != want || (sum-total).Abs() > slack {
		t.Errorf("the report has %d pauses of %s, want %d of about %s as in the recording", n, sum, want, total)
	}
}

// hasBeans compares the pauses and collections in the report with the counts of the GarbageCollectorMXBeans; see
// sameBeans for the pauses that the beans may lack.
func (s *shown) hasBeans(t *testing.T, counted tally, got *told) {
	t.Helper()
	pauses, cycles, full := 0, 0, -1
	concurrent, later := false, 0
	for _, b := range counted.beans {
		switch _, kind, _ := strings.Cut(b.name, " "); {
		case b.name == "MarkSweepCompact" || b.name == "PS MarkSweep" || b.name == "G1 Old Generation":
			full = b.n
			pauses += b.n
		case strings.HasSuffix(kind, "Cycles"):
			cycles += b.n
			concurrent, later = true, later+1+got.endedSince(counted.asked)
		case b.name == "G1 Concurrent GC":
			concurrent = true
			pauses += b.n
		default:
			pauses += b.n
		}
	}
	if !concurrent { // before JDK 20, no bean counts the pauses of G1's concurrent cycles
		pauses += got.actions["remark"] + got.actions["cleanup"]
	}
	if n, _ := s.pauses(); pauses > n || pauses < n-3*later {
		t.Errorf("the report has %d pauses, the beans %d, want %d to %d", n, pauses, n-3*later, n)
	}
	if full >= 0 && s.Totals.Full != full {
		t.Errorf("the report has %d full collections, want %d as in the bean", s.Totals.Full, full)
	}
	if n := s.Totals.Collections; later > 0 && (cycles > n || cycles < n-later) {
		t.Errorf("the report has %d collections, the beans %d, want %d to %d", n, cycles, n-later, n)
	}
}
