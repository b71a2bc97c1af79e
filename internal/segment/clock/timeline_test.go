package clock

import (
	"bytes"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// noon is the time of the first point of a test.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// step is a record, or a point before the records of a frame.
type step struct {
	point string // the time of day of a point; empty: no point
	raw   string // of the frame, or of the record
	want  string // the time of day of the record; "-": unknown
	run   int
}

func TestTimeline(t *testing.T) {
	for name, steps := range map[string][]step{
		"nothing is known": {
			{raw: "[1.000s][info][gc] a", want: "-", run: 1}, {raw: "text", want: "-", run: 1}, {raw: "[0.100s][info][gc] b", want: "-", run: 2},
		},
		"dates are dates": {
			{point: "12:00:00", raw: "[2026-11-20T11:00:00.000+0000][info] a\n"},
			{raw: "[2026-11-20T11:00:00.000+0000][info] a", want: "11:00:00"},
			{raw: "[info] b", want: "11:00:00"},
		},
		"the last line of a frame was written shortly before it": {
			{point: "12:00:00", raw: "[1.000s][info] a\n[10.000s][info] b\n"},
			{raw: "[1.000s][info] a", want: "11:59:51", run: 1}, {raw: "[10.000s][info] b", want: "12:00:00", run: 1},
			{raw: "[70.000s][info] c", want: "12:01:00", run: 1},
		},
		"an earlier start is a better one": {
			{point: "12:00:00", raw: "[10.000s][info] a\n"}, // with a backlog
			{raw: "[10.000s][info] a", want: "12:00:00", run: 1},
			{point: "13:00:00", raw: "[3620.000s][info] b\n"},
			{raw: "[3620.000s][info] b", want: "13:00:00", run: 1},
			{point: "14:00:00", raw: "[7200.000s][info] c\n"}, // with a backlog again
			{raw: "[7200.000s][info] c", want: "13:59:40", run: 1},
		},
		"a restart": {
			{point: "12:00:00", raw: "[10.000s][info] a\n"},
			{raw: "[10.000s][info] a", want: "12:00:00", run: 1},
			{raw: "[100.000s][info] b", want: "12:01:30", run: 1},
			{raw: "[99.500s][info] of a thread that was late", want: "12:01:29.5", run: 1},
			{raw: "[0.500s][info] c", want: "12:01:30", run: 2}, // the best guess, and not before 12:01:29.5
			{point: "13:00:00", raw: "[3000.000s][info] d\n"},
			{raw: "[3000.000s][info] d", want: "13:00:00", run: 2},
		},
		"restarts in a frame": {
			{point: "12:00:00", raw: "[10.000s][info] a\n[0.010s][info] b\n[0.500s][info] b\n[0.100s][info] c\n"},
			{raw: "[10.000s][info] a", want: "11:59:59.4", run: 1},
			{raw: "[0.010s][info] b", want: "11:59:59.41", run: 2},
			{raw: "[0.500s][info] b", want: "11:59:59.9", run: 2},
			{raw: "[0.100s][info] c", want: "12:00:00", run: 3},
			{point: "12:10:00", raw: "[0.200s][info] d\n[3.000s][info] e\n[1.000s][info] f\n"},
			{raw: "[0.200s][info] d", want: "12:00:00.1", run: 3},
			{raw: "[3.000s][info] e", want: "12:00:02.9", run: 3},
			{raw: "[1.000s][info] f", want: "12:10:00", run: 4},
		},
		"a date and an uptime give the start exactly": {
			{point: "12:00:00", raw: "[10.000s][info] a\n"},
			{raw: "[10.000s][info] a", want: "12:00:00", run: 1},
			{raw: "[2026-11-20T11:00:20.000+0000][20.000s][info] b", want: "11:00:20", run: 1},
			{raw: "[30.000s][info] c", want: "11:00:30", run: 1},
			{point: "12:00:00", raw: "[10000.000s][info] d\n"},
			{raw: "[10000.000s][info] d", want: "13:46:40", run: 1},
		},
	} {
		t.Run(name, func(t *testing.T) { testTimeline(t, steps) })
	}
}

func testTimeline(t *testing.T, steps []step) {
	var clock Timeline
	ofDay := func(text string) time.Time {
		at, err := time.Parse("15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return at.AddDate(noon.Year(), int(noon.Month())-1, noon.Day()-1)
	}
	for _, s := range steps {
		if s.point != "" {
			clock.Point(ofDay(s.point), clock.Ends([]byte(s.raw)))
			continue
		}
		var r ul.Record
		r.Parse([]byte(s.raw))
		got, ok := clock.Date(&r)
		if want := s.want != "-"; ok != want || want && !got.Equal(ofDay(s.want)) || clock.run != s.run {
			t.Errorf("%s: %v, %v, run %d, want %s, run %d", s.raw, got, ok, clock.run, s.want, s.run)
		}
	}
}

// Whatever a log contains, each line has either a valid time or no time, and only a bounded number of runs is remembered.
func FuzzTimeline(f *testing.F) {
	f.Add([]byte("[10.000s][info] a\n[0.010s][info] b\n"), int64(1))
	f.Add([]byte("[9223372036.854s][info] a\n[0.010s][info] b\n[2026-11-20T11:00:20.000+0000][20.000s][info] b\n"), int64(-1<<62))
	f.Fuzz(func(t *testing.T, raw []byte, at int64) {
		var clock Timeline
		var r ul.Record
		for range 2 {
			clock.Point(time.UnixMilli(at), clock.Ends(raw))
			if len(clock.ahead) > bytes.Count(raw, []byte{'\n'})+1 {
				t.Fatalf("%d runs in %d bytes, want at most %d", len(clock.ahead), len(raw), bytes.Count(raw, []byte{'\n'})+1)
			}
			for line := range bytes.Lines(raw) {
				r.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
				if when, ok := clock.Date(&r); ok == when.IsZero() {
					t.Fatalf("the date is %v, known is %v; want the zero time exactly if it is not known", when, ok)
				}
			}
		}
	})
}
