package sink

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/segment"
)

// ofDay parses a time on 2026-11-21, the day of all cases.
func ofDay(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.AddDate(2026, 10, 20)
}

// Each case is a stream. A row is a segment with its creation time, or a line with its time.
func TestTimesOfLines(t *testing.T) {
	for name, stream := range map[string]string{
		"a date": `segment       10:00:00
			09:59:58.123  [2026-11-21T10:59:58.123+0100][info][gc] one
			09:59:58.123  and more of it
			09:59:59.5    [1795255199500ms][info][gc] two`,
		"an uptime": `segment 10:00:00
			10:00:00    [0.500s][info][gc] one
			10:00:01    [1.500s][info][gc] two
			10:00:01    of two
			10:00:02.5  [3000ms][info][gc] three`,
		"a segment that waited longer than the next": `segment 10:30:00
			10:30:00    [10.000s][info][gc] written half an hour before
			segment     10:20:00
			10:20:00    [1210.000s][info][gc] written then
			10:20:01    [1211.000s][info][gc] a second later
			segment     10:50:00
			10:20:02    [1212.000s][info][gc] waited again`,
		"another JVM starts within the segment": `segment 10:00:00
			10:00:00    [100.000s][info][gc] one
			10:01:00    [160.000s][info][gc] the last
			10:01:00.5  [0.500s][info][gc] no earlier than that
			10:01:02    [2.000s][info][gc] two
			segment     10:03:00
			10:03:00    [60.000s][info][gc] so it started at 10:02
			10:03:01    [61.000s][info][gc] next`,
		"threads out of order": `segment 10:00:00
			10:00:00      [0.090s][info][gc] at once
			09:59:59.915  [0.005s][info][gc] a little late
			10:10:00      [600.090s][info][gc] long after
			10:09:20      [560.090s][info][gc] preempted`,
		"a marker is not the time of what follows": `segment 10:00:00
			10:00:00  [1.000s][info][gc] one
			10:05:00  [2026-11-21T10:05:00.000+0000][warning][ullage] gap: 1 lines, 9 bytes dropped in 0.000s: drop info=1
			10:00:00  of one
			10:00:01  [2.000s][info][gc] two`,
		"an application and its JVM": `segment 10:00:00
			10:00:01  2026-11-21T10:00:01.000Z  INFO 1 --- [demo] [main] c.e.Main : a
			10:00:01  at c.e.Main.main
			10:00:02  [2026-11-21T10:00:02.000+0000][info][gc] one
			10:00:03  {"@timestamp":"2026-11-21T11:00:03.000+01:00","level":"INFO"}
			10:00:03  10:00:09.123 [main] INFO c.e.Main -- a time without a date
			10:00:04  Nov 21, 2026 10:00:04 AM c.e.Main main
			10:00:04  SEVERE: bad`,
		"no time at all": `segment 10:00:00
			10:00:07  hello
			10:00:07  [info][gc] hello`,
		"what nobody should believe": `segment 10:00:00
			10:00:07  [9999-11-21T10:59:58.123+0100][info][gc] one
			10:00:07  [99999999999.000s][info][gc] two
			10:00:07  [0001-01-01T00:00:00.000+0000][info][gc] three
			10:00:07  [5.000s][info][gc] four`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDating(format.Classifier{})
			var seg segment.Info
			for line := range strings.Lines(stream) {
				at, text, _ := strings.Cut(strings.TrimSpace(line), " ")
				text = strings.TrimSpace(text)
				if at == "segment" {
					seg = segment.Info{Name: text, Start: ofDay(t, text), ModTime: ofDay(t, text).Add(7 * time.Second), Compress: segment.None}
					continue
				}
				if seg.Size == 0 { // the first line of a segment is its first frame
					seg.Size = int64(len(text))
					d.Frame(seg, segment.Frame{End: seg.Size, Raw: seg.Size}, []byte(text))
				}
				if _, got := d.line(&seg, []byte(text), nil); !got.Equal(ofDay(t, at)) {
					t.Errorf("%s is dated %s, want %s", line, got, ofDay(t, at))
				}
			}
			if !d.dates().check() {
				t.Errorf("the dates are %+v, want dates that a cursor can hold", d.dates())
			}
		})
	}
}

func TestDatingAllocatesNothing(t *testing.T) {
	d := newDating(format.Classifier{})
	seg := segment.Info{Start: ofDay(t, "10:00:00")}
	line := []byte("[12.345s][info][gc,start] GC(1) Pause Young")
	if n := testing.AllocsPerRun(100, func() { d.line(&seg, line, nil) }); n != 0 {
		t.Errorf("a line takes %v allocations, want 0", n)
	}
}

// After a restart in the middle of a segment, lines are dated as before, from the state in the
// cursor.
func TestARestartDatesLinesAsBefore(t *testing.T) {
	r := newRig(t, false)
	var times []time.Time
	r.engine.fails = func(b *Batch) error {
		for _, l := range b.Lines {
			times = append(times, l.Time)
		}
		return nil
	}
	r.commits("gc.log", "[100.000s][info][gc] one")
	r.gets(1)
	r.must(r.end())
	r.begin()
	start := r.list("gc.log")[0].Start
	// A line is never dated later than the last write of its segment. So the second line must be
	// written more than a millisecond after the first one, as measured by the clock for file
	// times. That clock moves with the kernel's tick and is late by up to 10 ms.
	clock := filepath.Join(t.TempDir(), "clock")
	for written := start; written.Sub(start) < 2*time.Millisecond; {
		r.must(os.WriteFile(clock, []byte("x"), 0o600))
		info, err := os.Stat(clock)
		r.must(err)
		written = info.ModTime()
	}
	r.commits("gc.log", "[100.001s][info][gc] two")
	r.gets(2)
	r.must(r.end())
	if len(times) != 2 || !times[0].Equal(start) || !times[1].Equal(start.Add(time.Millisecond)) {
		t.Errorf("the lines of a segment of %s are dated %s, want the time of the segment and 1ms after it", start, times)
	}
}

func FuzzDating(f *testing.F) {
	f.Add("[0.5s][info][gc] a\n[2026-11-21T10:59:58.123+0100][0.1s][info][gc] b\n[1581379200.0s][info][gc] c\n[0.1s][info][gc] d", int64(0), int64(1))
	f.Add("[1ms][info][gc] a", int64(math.MaxInt64), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, created, changed int64) {
		d := newDating(format.Classifier{})
		seg := segment.Info{Name: "one", Start: time.Unix(created, 0), ModTime: time.Unix(changed, 0)}
		d.Frame(seg, segment.Frame{End: int64(len(text)), Raw: int64(len(text))}, []byte(text))
		for line := range strings.Lines(text) {
			if _, at := d.line(&seg, []byte(line), nil); at.Year() < 1970 || at.Year() > 2200 || !d.dates().check() {
				t.Fatalf("%q is dated %s, from %+v; want a year from 1970 to 2200, and dates that a cursor can hold", line, at, d.dates())
			}
		}
	})
}
