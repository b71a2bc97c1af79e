package view

import (
	"bytes"
	"strings"
	"testing"
)

// A report that another program wrote may list more stops than its totals count.
func TestNoStopsAreMoreThanThoseListed(t *testing.T) {
	r := &Report{Name: "gc.log", Tables: Tables{Causes: []Spread{{Name: "young"}}}, Suspected: []*Stop{{Cause: "young"}}}
	for total, want := range map[uint64]string{0: "", 1: "", 3: "and 2 shorter ones"} {
		r.Totals.Suspected = total
		var text bytes.Buffer
		if err := Text(&text, Style{}, r); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); strings.Contains(got, "shorter") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("of %d suspected stops, 1 is listed: %q, want %q", total, got, want)
		}
	}
}
