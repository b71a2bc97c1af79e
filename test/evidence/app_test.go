package main

import (
	"encoding/binary"
	"strings"
	"testing"
)

// TestEventsAreCounted checks that whole lines of Apps.java are counted, in the form of every appender, and the
// severe lines among them.
func TestEventsAreCounted(t *testing.T) {
	var q sequences
	const text = "2026-11-23 12:00:00,000 [Thread-1] ERROR ROOT - SEQ E 1 of a request\n" +
		"[2026-11-23T12:00:00.000+0000][1ns][9][warning][event] [Thread-1] ROOT SEQ W 2 of a request\n" +
		"[2026-11-23T12:00:00.000+0000][1ns][9][info][event] [Thread-1] ROOT SEQ I 3 of a request\n" +
		"[0.1s][warning][ullage] dropped 12 lines\n" +
		"a line that was cut SEQ E 4"
	if err := q.read(strings.NewReader(text)); err != nil || q.all != 3 || q.severe != 2 {
		t.Errorf("the counts are %+v, error %v, want all 3 and severe 2", q, err)
	}
}

func TestPairs(t *testing.T) {
	f, err := pairs("a warning\nmean=48.1 p50=60 dropped=0\n")
	if err != nil || f["mean"] != 48.1 || f["p50"] != 60 || len(f) != 3 {
		t.Errorf("got %v, error %v; want mean 48.1, p50 60, 3 figures and no error", f, err)
	}
	for _, out := range []string{"", "Exception in thread main", "mean=x"} {
		if f, err := pairs(out); err == nil && len(f) > 0 {
			t.Errorf("%q is parsed as %v, want no figures or an error", out, f)
		}
	}
}

// TestCountsOfThreads checks the sum of the counts that two threads of a killed JVM have left.
func TestCountsOfThreads(t *testing.T) {
	var text []byte
	for _, v := range []uint64{100, 5, 2_000_000, 50, 2, 3_500_000} {
		text = binary.NativeEndian.AppendUint64(text, v)
	}
	f, err := threadCounts(text, 3)
	if err != nil || f["written"] != 150 || f["severe"] != 7 || f["longest"] != 3.5 || f["ops"] != 50 {
		t.Errorf("got %v, error %v; want written 150, severe 7, longest 3.5, ops 50 and no error", f, err)
	}
	for _, bad := range [][]byte{nil, text[1:]} {
		if f, err := threadCounts(bad, 3); err == nil {
			t.Errorf("%d bytes: want an error, got %v", len(bad), f)
		}
	}
}
