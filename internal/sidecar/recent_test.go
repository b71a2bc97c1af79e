package sidecar

import (
	"encoding/json"
	"testing"
	"time"

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
