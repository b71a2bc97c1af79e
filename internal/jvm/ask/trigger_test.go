package ask

import (
	"strings"
	"testing"
	"time"
)

func TestParseTrigger(t *testing.T) {
	for _, c := range []struct {
		text string
		want Trigger
		as   string // canonical; empty: as text
	}{
		{"pause>500ms", Trigger{Pause: 500 * time.Millisecond}, ""},
		{"pause>1ms", Trigger{Pause: time.Millisecond}, ""},
		{"pause>1h", Trigger{Pause: time.Hour}, "pause>1h0m0s"},
		{"pause > 1.5s", Trigger{Pause: 1500 * time.Millisecond}, "pause>1.5s"},
		{"io-stall", Trigger{IOStall: true}, ""},
		{"dropped", Trigger{Dropped: true}, ""},
		{"warning", Trigger{Warning: true}, ""},
		{" warning ,dropped,\tio-stall , pause >2s500ms", Trigger{2500 * time.Millisecond, true, true, true}, "pause>2.5s,io-stall,dropped,warning"},
	} {
		got, err := ParseTrigger(c.text)
		if c.as == "" {
			c.as = c.text
		}
		if err != nil || got != c.want || got.String() != c.as {
			t.Errorf("ParseTrigger(%q) = %+v, %v, written as %q; want %+v, %q", c.text, got, err, got, c.want, c.as)
		}
	}
	if zero := (Trigger{}); !zero.IsZero() || zero.String() != "" {
		t.Errorf(`the zero trigger is %q, IsZero %t; want "" and true`, zero, zero.IsZero())
	}
}

func TestParseTriggerRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no condition is given; use pause>500ms"},
		{" \t", "no condition is given"},
		{"dropped,", `"" is not a condition; use pause>500ms`},
		{"dropped,,warning", `"" is not a condition`},
		{"puase>500ms", `"puase>500ms" is not a condition; did you mean "pause"?`},
		{"Pause>500ms", `did you mean "pause"?`},
		{"warning, iostall", `"iostall" is not a condition; did you mean "io-stall"?`},
		{"io_stall", "use pause>500ms, io-stall, dropped, warning"},
		{"gc*=debug", `"gc*=debug" is not a condition; use`},
		{"pause", `"pause" needs a duration from 1ms to 1h; write it like pause>500ms`},
		{"pause>", "needs a duration"},
		{"pause>500", "needs a duration"},
		{"pause>=500ms", "needs a duration"},
		{"pause<500ms", "needs a duration"},
		{"pause=500ms", "needs a duration"},
		{"pause 500ms", "needs a duration"},
		{"pause>500 ms", "needs a duration"},
		{"pause>-500ms", "needs a duration"},
		{"pause>999us", "needs a duration"},
		{"pause>1h0m1ns", "needs a duration"},
		{"pause>99999999h", "needs a duration"},
		{"pause>0", "needs a duration"},
		{"pause>500ms,pause>1s", `"pause>1s" sets a second limit`},
		{"dropped,dropped", `"dropped" occurs twice`},
		{"dropped>3", `"dropped>3" has ">3" after "dropped", which has no limit`},
		{"warning\x00", `"warning\x00" has "\x00" after`},
		{"warning\ndropped", "which has no limit"},
		{"\xff", `"\xff" is not a condition`},
		{strings.Repeat("dropped,", 1000), "at most 256 are allowed"},
	} {
		got, err := ParseTrigger(c.text)
		if err == nil || !got.IsZero() || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseTrigger(%q) = %q, %v; want an error with %q", c.text, got, err, c.want)
		}
	}
}

func TestConditionsOfStops(t *testing.T) {
	for text, good := range map[string]bool{"pause>1s": true, " pause > 500ms ": true, "io-stall": false, "pause>1s,warning": false, "": false, "pause": false, "puase>1s": false} {
		if _, err := ParseStops(text); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "write it like pause>500ms") {
			t.Errorf("%q: error %v, want it accepted: %v, and otherwise an error that says how to write it", text, err, good)
		}
	}
}
