package index

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

func at(s int) time.Time { return time.Date(2026, 11, 22, 10, 0, s, 0, time.UTC) }

func line(s int) string { return at(s).Format("[2006-01-02T15:04:05.000-0700]") + "[info][gc] x\n" }

func TestDatesAreThoseOfTheEndsOfFrames(t *testing.T) {
	for _, c := range []struct {
		name        string
		frames      []string
		first, last time.Time
	}{
		{"nothing", []string{""}, time.Time{}, time.Time{}},
		{"one line", []string{line(1)}, at(1), at(1)},
		{"only the ends count", []string{line(2) + line(9) + line(3)}, at(2), at(3)},
		{"a clock that was set back", []string{line(5) + line(6), line(1) + line(2)}, at(1), at(6)},
		{"the end of a line before it", []string{"of a line\n" + line(1) + line(2)}, at(1), at(2)},
		{"a line that goes on", []string{line(1) + strings.TrimSuffix(line(2), "\n")}, at(1), at(2)},
		{"continuations", []string{line(1) + "  more\n  and more\n"}, at(1), at(1)},
		{"no dates", []string{strings.Repeat("[1s][info][gc] x\n", 100)}, time.Time{}, time.Time{}},
		{"a date too far from the ends", []string{strings.Repeat("x\n", 20) + line(1) + strings.Repeat("x\n", 20)}, time.Time{}, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sum
			raw := 0
			for _, f := range c.frames {
				s.Frame([]byte(f))
				raw += len(f)
			}
			if !s.First.Equal(c.first) || !s.Last.Equal(c.last) || s.Raw != int64(raw) {
				t.Errorf("%s to %s, %d bytes; want %s to %s, %d", s.First, s.Last, s.Raw, c.first, c.last, raw)
			}
		})
	}
}

func TestGapsAddUp(t *testing.T) {
	gap := ul.Gap{First: at(2), Last: at(3), Bytes: 9}
	gap.Lines[ul.Discard][ul.Debug] = 7
	marker := string(gap.AppendMarker(nil))
	var s Sum
	s.Markers([]byte(line(1) + marker + line(4) + marker + marker[:40]))
	if s.Gap.Lines[ul.Discard][ul.Debug] != 14 || s.Gap.Total() != 14 || s.Gap.Bytes != 18 {
		t.Errorf("the sum of the gaps is %+v, want s.Gap.Lines[ul.Discard][ul.Debug] 14, Total 14 and Bytes 18", s.Gap)
	}
}
