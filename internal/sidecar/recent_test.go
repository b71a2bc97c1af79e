package sidecar

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/ul"
)

func TestTheLastGapsAreKeptEachOnce(t *testing.T) {
	var r recent
	if text, _ := json.Marshal(r.answer()); string(text) != `{"pauses":[],"gaps":[]}` {
		t.Errorf("nothing is %s", text)
	}
	gap := func(second int64) ul.Gap {
		g := ul.Gap{Bytes: 100, First: time.Unix(second, 0), Last: time.Unix(second+1, 0)}
		g.Lines[ul.Discard][ul.Info], g.Lines[ul.DropAll][ul.Info], g.Lines[ul.DropAll][ul.Warning] = 2, 3, 4
		return g
	}
	for second := range int64(admin.MaxGaps + 5) {
		r.gap("gc.log", gap(second))
		r.gap("gc.log", gap(second)) // the destination failed in between
	}
	r.gap("app.log", gap(admin.MaxGaps+4))
	got := r.answer().Gaps
	if len(got) != admin.MaxGaps {
		t.Fatalf("%d gaps, want %d", len(got), admin.MaxGaps)
	}
	if last := got[len(got)-1]; last.Stream != "app.log" || last.Lines != 9 || last.Bytes != 100 || last.ByLevel["info"] != 5 || last.ByLevel["warning"] != 4 || len(last.ByLevel) != 2 {
		t.Errorf("the newest is %+v", last)
	}
	if first := got[0]; !first.First.Equal(time.Unix(6, 0)) {
		t.Errorf("the oldest is of %s", first.First)
	}
}

// Each pause is one, whichever lines are about it.
func TestTheLastPausesAreKeptEachOnce(t *testing.T) {
	var r recent
	p := pauses{to: &r}
	for range admin.MaxPauses {
		p.line([]byte("[0.1s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 1.000ms"), ul.Class{})
	}
	for _, line := range []string{
		"[0.2s][info][gc,start] GC(2) Pause Young (Normal) (G1 Evacuation Pause)",
		"[0.2s][info][gc,cpu] GC(3) User=0.01s Sys=0.00s Real=0.50s", // of another one
		"[0.3s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 500.000ms",
		"[0.3s][info][gc,cpu] GC(2) User=0.01s Sys=0.00s Real=0.50s",
		`[0.3s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 1000 ns, Cleanup: 1000 ns, At safepoint: 500000000 ns, Total: 500002000 ns`,
		`[0.4s][info][safepoint] Safepoint "ThreadDump", Time since last: 5 ns, Reaching safepoint: 2000000 ns, Cleanup: 0 ns, At safepoint: 1000000 ns, Total: 3000000 ns`,
		`[0.5s][info][safepoint] Safepoint "ICBufferFull", Time since last: 5 ns, Reaching safepoint: 1000 ns, Cleanup: 0 ns, At safepoint: 1000 ns, Total: 2000 ns`,
		"[0.6s][info][gc] a line about nothing",
	} {
		p.line([]byte(line), ul.Class{})
	}
	got := r.answer().Pauses
	if len(got) != admin.MaxPauses {
		t.Fatalf("%d pauses, want %d", len(got), admin.MaxPauses)
	}
	for i := range got {
		if time.Since(got[i].At) > time.Minute {
			t.Errorf("a pause was read at %s", got[i].At)
		}
		got[i].At = time.Time{}
	}
	want := []admin.Pause{
		{Name: "Young (Normal) (G1 Evacuation Pause)", Seconds: 0.001},
		{Name: "Young (Normal) (G1 Evacuation Pause)", Seconds: 0.5, Verdict: "stall, 10ms of CPU time"},
		{Name: "Safepoint ThreadDump", Seconds: 0.003, ReachSeconds: 0.002},
	}
	if d := cmp.Diff(want, got[len(got)-3:]); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
