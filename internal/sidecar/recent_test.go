package sidecar

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

func TestTheLastGapsAreKeptEachOnce(t *testing.T) {
	var r recent
	if text, _ := json.Marshal(r.answer(nil)); string(text) != `{"pauses":null,"gaps":[]}` {
		t.Errorf(`the answer without pauses and gaps is %s, want {"pauses":null,"gaps":[]}`, text)
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
	got := r.answer(nil).Gaps
	if len(got) != admin.MaxGaps {
		t.Fatalf("%d gaps, want %d", len(got), admin.MaxGaps)
	}
	if last := got[len(got)-1]; last.Stream != "app.log" || last.Lines != 9 || last.Bytes != 100 || last.ByLevel["info"] != 5 || last.ByLevel["warning"] != 4 || len(last.ByLevel) != 2 {
		t.Errorf("the newest gap is %+v; want 9 lines of app.log, 5 at info and 4 at warning, with 100 bytes", last)
	}
	if first := got[0]; !first.First.Equal(time.Unix(6, 0)) {
		t.Errorf("the oldest gap begins at %s, want %s", first.First, time.Unix(6, 0))
	}
}

// The page shows the newest pause last. The parts of a pause's name are from fixed lists, so no
// other text of a log is in the name.
func TestTheLastPausesAreNamed(t *testing.T) {
	at := time.Unix(1000, 0)
	got := pausesOf([]insight.Stop{
		{End: at.Add(3), Duration: time.Millisecond, Operation: pause.None},
		{End: at.Add(2), Duration: 3 * time.Millisecond, Reaching: 2 * time.Millisecond, Operation: "ThreadDump"},
		{End: at.Add(1), Duration: time.Second, Operation: "G1CollectFull", Collector: "G1", Action: "full", Cause: "System.gc()", Verdict: insight.Disk, Evidence: "vda was busy"},
		{End: at, Stream: "gc.log", Duration: time.Second, Operation: pause.None, Action: "remark", Cause: pause.None},
	})
	want := []admin.Pause{
		{At: at, Stream: "gc.log", Name: "remark", Seconds: 1},
		{At: at.Add(1), Name: "G1 full (System.gc())", Seconds: 1, Verdict: "disk", Evidence: "vda was busy"},
		{At: at.Add(2), Name: "safepoint ThreadDump", Seconds: 0.003, ReachSeconds: 0.002},
		{At: at.Add(3), Name: "safepoint", Seconds: 0.001},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if n := len(pausesOf(make([]insight.Stop, admin.MaxPauses+1))); n != admin.MaxPauses {
		t.Errorf("%d pauses, want %d", n, admin.MaxPauses)
	}
}
