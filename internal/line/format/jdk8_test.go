package format

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// A line of JDK 8's collector is a record, whatever its stamps are. The record has no level and does not inherit one.
// The lines that follow continue it.
func TestLinesOfJDK8(t *testing.T) {
	for _, one := range []struct {
		line   string
		header bool
		at     string
		up     time.Duration
	}{
		{"2024-05-07T11:12:44.123+0200: 151.126: [GC (Allocation Failure) 151.126: [ParNew", true, "09:12:44.123", 151126 * time.Millisecond},
		{"2024-05-07T11:12:44.123+0200: [Full GC (System.gc()) 1K->1K(2K), 0.1 secs]", true, "09:12:44.123", 0},
		{"151,126: [CMS-concurrent-mark-start]", true, "", 151126 * time.Millisecond},
		{"151.126: #7: Total time for which application threads were stopped: 0.0001 seconds", true, "", 151126 * time.Millisecond},
		{"151.126: Application time: 1.0000000 seconds", true, "", 151126 * time.Millisecond},
		{" 151.126: [G1Ergonomics (CSet Construction) start choosing CSet]", false, "", 0},
		{"   [Parallel Time: 8.0 ms, GC Workers: 4]", false, "", 0},
		{": 8000K->1000K(9000K), 0.0100000 secs] 18000K->12000K(31000K), 0.0110000 secs]", false, "", 0},
		{"151.126: [main] ERROR text", false, "", 0},
		{"151: [GC (Allocation Failure)", false, "", 0},
	} {
		for _, c := range []Classifier{{}, New(JDK8), New(Plain)} {
			only := c.only
			if only != Plain {
				c.Classify([]byte("2024-05-07T11:12:43.123+0200: 150.126: [GC (Allocation Failure)"), nil)
			}
			if only == Auto {
				c.Classify([]byte("2024-05-07 09:12:43,123 ERROR [main] com.acme.Shop - text"), nil)
			}
			kind, level := ul.Continuation, ul.Unknown
			switch {
			case only == Plain:
				kind = ul.Text
			case one.header:
				kind = ul.Header
			case only == Auto:
				level = ul.Error
			}
			if got := c.Classify([]byte(one.line), nil); got.Kind != kind || got.Level != level {
				t.Errorf("%v: %s, level %v, want %s, %v: %s", only, got.Kind, got.Level, kind, level, one.line)
			}
			if one.header && only != Plain && c.Format() != JDK8 {
				t.Errorf("with %v, the format is %v, want %v at line %s", only, c.Format(), JDK8, one.line)
			}
		}
		var r ul.Record
		r.Parse([]byte(one.line))
		at, text := time.Time{}, ""
		if at, _ = r.When(); !at.IsZero() {
			text = at.Format("15:04:05.999")
		}
		if up, _ := r.Since(); text != one.at || up != one.up || r.Stamped != one.header {
			t.Errorf("%q, %v, %v, want %q, %v: %s", text, up, r.Stamped, one.at, one.up, one.line)
		}
	}
}
