package view

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestATraceHasATrackForEachKind(t *testing.T) {
	at := 1.5
	r := &Report{Name: "gc.log",
		Series:  []Series{{Kind: "young", Points: []Point{{At: 1, Value: 0.25, N: 3}, {At: 2, Value: 0.1, N: 1}}}},
		Longest: []Stop{{At: &at, Duration: 0.25, Cause: "young\x1b[31m", Lines: []string{"a line"}}, {Duration: 1}},
		Bands:   []Band{{Kind: "dropped", Begin: 1, End: 3}, {Kind: "dropped", Begin: 2, End: 4}, {Kind: "restart", Begin: 5, End: 5}},
		Heap:    Heap{After: []Point{{At: 1, Value: 1 << 20}}}}
	var text bytes.Buffer
	if err := Perfetto(&text, r); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []slice `json:"traceEvents"`
	}
	if err := json.Unmarshal(text.Bytes(), &trace); err != nil || bytes.ContainsRune(text.Bytes(), '\x1b') {
		t.Fatalf("error %v, want JSON without an escape character in %q", err, text.String())
	}
	names, ends := map[string]int{}, map[int]int64{}
	for _, e := range trace.Events {
		switch e.Phase {
		case "M":
			names[e.Args["name"].(string)]++
		case "X":
			if e.Begin < ends[e.Track] || e.Long < 1 {
				t.Errorf("%+v begins before the previous event ends at %d, or has no length", e, ends[e.Track])
			}
			ends[e.Track] = e.Begin + e.Long
		case "C":
			if e.Begin != 1e6 || e.Args["bytes"] != float64(1<<20) {
				t.Errorf("the counter is %+v, want 1 MiB at 1 s", e)
			}
		}
	}
	want := map[string]int{"gc.log": 1, "stops: young": 1, "the longest stops": 1, "dropped": 2, "restart": 1}
	for name, n := range want {
		if names[name] != n {
			t.Errorf("%d tracks %q, want %d", names[name], name, n)
		}
	}
}
