package pause

import (
	"flag"
	"io"
	"testing"
	"time"
)

func TestAFloorIsFromAMillisecondToAnHour(t *testing.T) {
	for text, want := range map[string]Floor{
		"": DefaultFloor, "1ms": Floor(time.Millisecond), "250ms": Floor(250 * time.Millisecond), "1h": Floor(time.Hour),
		"0": -1, "0s": -1, "999us": -1, "-1s": -1, "60m1s": -1, "100": -1, "long": -1,
	} {
		var f Floor
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		f.Flags(fs)
		var args []string
		if text != "" {
			args = []string{"--stall-floor", text}
		}
		switch err := fs.Parse(args); {
		case (err != nil) != (want < 0):
			t.Errorf("%q: error %v, want an error: %v", text, err, want < 0)
		case err == nil && f.Duration() != time.Duration(want):
			t.Errorf("%q is %s, want %s", text, f.Duration(), time.Duration(want))
		}
	}
}

func TestStalledByTheFloor(t *testing.T) {
	e, _ := Parse([]byte("GC(0) User=0.00s Sys=0.00s Real=0.30s"))
	for floor, want := range map[Floor]bool{0: true, Floor(time.Millisecond): true, Floor(300 * time.Millisecond): true, Floor(301 * time.Millisecond): false} {
		if e.Stalled(floor) != want {
			t.Errorf("at a floor of %s: stalled is %v, want the opposite", floor.Duration(), !want)
		}
	}
}
