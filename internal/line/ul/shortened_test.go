package ul

import (
	"strings"
	"testing"
	"time"
)

func TestTheLineBehindAShortenedRecordIsFoundAgain(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 49, 0, 123e6, time.UTC)
	for level := Trace; level <= Error; level++ {
		line := strings.TrimSuffix(string(AppendShortened(nil, at, level)), "\n")
		var r Record
		if r.Parse([]byte(line)); r.Kind != Header || r.Level != level {
			t.Errorf("%q is a line of kind %v and level %v, want %v and %v", line, r.Kind, r.Level, Header, level)
		}
		if when, ok := r.When(); !ok || !when.Equal(at) {
			t.Errorf("%q has the time %v, known is %v; want %v and true", line, when, ok, at)
		}
		if !IsShortened([]byte(line)) {
			t.Errorf("IsShortened is false for %q", line)
		}
		for _, other := range []string{line + " ", line + "\n", " " + line, line[1:], strings.Replace(line, level.String(), "none", 1),
			strings.Replace(line, "2026", "year", 1), "x" + line, strings.Replace(line, "[ullage]", "[gc]", 1), shortenedMessage} {
			if IsShortened([]byte(other)) {
				t.Errorf("IsShortened is true for %q", other)
			}
		}
	}
}
