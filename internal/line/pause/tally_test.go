package pause

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// tallied is a Tally that receives the records of a Joiner. It keeps the figures that the Tally passed on.
type tallied struct {
	*Tally
	joiner *Joiner
	all    []Figures
}

// newTallied returns a Tally whose lines are read at the time at which they were written or, if late is not zero, at late.
func newTallied(late time.Time) *tallied {
	d := &tallied{}
	d.Tally = NewTally(0, func(f *Figures) { d.all = append(d.all, *f) })
	at := func(c Clock) (at, now time.Time) {
		if now = late; late.IsZero() {
			now = c.Wall
		}
		return c.Wall, now
	}
	d.joiner = NewJoiner(Handlers{
		Run:        func(r *Run) { at, now := at(r.First); d.Run(r, at, now) },
		Stop:       func(p *Stop) { at, now := at(p.End); d.Stop(p, at, now) },
		Collection: func(c *Collection) { at, now := at(c.End); d.Collection(c, at, now) },
	})
	return d
}

func (d *tallied) read(lines ...string) {
	for _, line := range lines {
		d.joiner.Line([]byte(line), ul.Class{})
	}
}

func (d *tallied) end() {
	d.joiner.Flush()
	d.Flush()
}

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// stopAt is the line of a safepoint of a JVM that started at noon.
func stopAt(up, took time.Duration) string {
	return fmt.Sprintf("[%s][%.3fs][info][safepoint] Safepoint \"Cleanup\", Time since last: 1 ns, Reaching safepoint: %d ns, At safepoint: %d ns, Total: %d ns",
		start.Add(up).Format(ul.TimeLayout), up.Seconds(), took/10, took-took/10, took)
}

// pauseAt is the lines of a collection.
func pauseAt(number int, up time.Duration, before, after int) string {
	return fmt.Sprintf("[%s][%.3fs][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) %dM->%dM(64M) 2.000ms", start.Add(up).Format(ul.TimeLayout), up.Seconds(), number, before, after)
}

func (f *Figures) short() string {
	n, _ := countsOf(&f.Stops)
	return fmt.Sprintf("%s-%s span %v stops %d", f.Since.Format("15:04"), f.Until.Format("15:04"), f.Span.Round(time.Minute), n)
}

func shorts(all []Figures) (texts []string) {
	for i := range all {
		texts = append(texts, all[i].short())
	}
	return texts
}

func TestFiguresAreAboutTenMinutes(t *testing.T) {
	every := func(step, end time.Duration) (lines []string) {
		for up := time.Duration(0); up <= end; up += step {
			lines = append(lines, stopAt(up, time.Millisecond))
		}
		return lines
	}
	for name, c := range map[string]struct {
		late  bool // the lines are read two days later, at one moment
		lines []string
		want  []string
	}{
		"busy": {false, every(time.Minute, 25*time.Minute), []string{
			"12:00-12:09 span 9m0s stops 10", "12:09-12:18 span 9m0s stops 9", "12:18-12:25 span 7m0s stops 7"}},
		"idle in between": {false, []string{stopAt(0, 1e6), stopAt(time.Minute, 1e6), stopAt(5*time.Hour, 1e6), stopAt(5*time.Hour+time.Minute, 1e6)}, []string{
			"12:00-12:01 span 1m0s stops 2", "12:01-17:00 span 4h59m0s stops 0", "17:00-17:01 span 1m0s stops 2"}},
		"idle at first": {false, []string{"[2026-11-28T12:00:00.000+0000][0.000s][info][gc] Using G1", stopAt(5*time.Hour, 1e6)}, []string{
			"12:00-17:00 span 5h0m0s stops 0", "17:00-17:00 span 0s stops 1"}},
		"a backlog": {true, every(time.Minute, 24*time.Hour), []string{"12:00-12:00 span 24h0m0s stops 1441"}},
	} {
		t.Run(name, func(t *testing.T) {
			var read time.Time
			if c.late {
				read = start.Add(48 * time.Hour)
			}
			d := newTallied(read)
			d.passed = read
			d.read(c.lines...)
			d.end()
			if got := shorts(d.all); !slices.Equal(got, c.want) {
				t.Errorf("figures %q\nwant %q", got, c.want)
			}
		})
	}
}

// The clock of a log cannot be trusted.
func TestFiguresAreNotOfTheFuture(t *testing.T) {
	now := start.Add(time.Hour)
	d := newTallied(now)
	d.read(stopAt(0, 1e6), stopAt(100*time.Hour, 1e6), stopAt(time.Minute, 1e6))
	d.end()
	for _, f := range d.all {
		if f.Until.After(now) || f.Until.Before(f.Since) {
			t.Errorf("figures %s, want none of them after %s", f.short(), now)
		}
	}
}

func TestAnIdleLogsFiguresArePassedOn(t *testing.T) {
	d := newTallied(time.Time{})
	d.read(stopAt(0, time.Millisecond))
	for minute, want := range []int{9: 0, 10: 1, 11: 1, 30: 1} {
		if d.Idle(start, start.Add(time.Duration(minute)*time.Minute)); want > 0 && len(d.all) != want {
			t.Errorf("after %d minutes: %d figures, want %d", minute, len(d.all), want)
		}
	}
}

func TestWhatFiguresHold(t *testing.T) {
	d := newTallied(time.Time{})
	d.read(stopAt(time.Second, 3*time.Millisecond), stopAt(2*time.Second, 200*time.Millisecond))
	d.read(pauseAt(0, 3*time.Second, 20, 5), pauseAt(1, 4*time.Second, 25, 6), pauseAt(2, 5*time.Second, 26, 7))
	d.read("[2026-11-28T12:00:06.000+0000][6.000s][info][gc] GC(3) Pause Full (System.gc()) 9M->4M(64M) 12.000ms")
	d.Lost(7)
	d.end()
	if len(d.all) != 1 {
		t.Fatalf("%d figures, want 1: %v", len(d.all), shorts(d.all))
	}
	f := d.all[0]
	n, _ := countsOf(&f.Stops)
	f.Stops = Durations{}
	want := Figures{Since: start.Add(time.Second), Until: start.Add(6 * time.Second), Span: 5 * time.Second, Stopped: 221 * time.Millisecond, Longest: 200 * time.Millisecond,
		Reaching: 20 * time.Millisecond, Allocated: (20 + 2) << 20, Allocating: 2 * time.Second, Heap: 4 << 20, Full: 1, Suspected: 1, Lost: 7, Run: 1}
	if n != 6 || fmt.Sprint(f) != fmt.Sprint(want) {
		t.Errorf("%d stops and %+v\nwant 6 and %+v", n, f, want)
	}
}

// For hours, a log may have only other lines. They show that the JVM runs, and this time must be in the figures exactly
// once.
func TestFiguresOfALogWithOtherLines(t *testing.T) {
	d := newTallied(time.Time{})
	d.read(stopAt(0, 1e6))
	for minute := 1; minute <= 60; minute++ {
		now := start.Add(time.Duration(minute) * time.Minute)
		d.Idle(now, now)
	}
	d.read(stopAt(65*time.Minute, 1e6))
	d.end()
	var span time.Duration
	until := start
	for _, f := range d.all {
		if !f.Since.Equal(until) {
			t.Errorf("figures %s begin at %s, want the end of the previous figures, %s", f.short(), f.Since, until)
		}
		span, until = span+f.Span, f.Until
	}
	if span != 65*time.Minute || len(d.all) != 7 {
		t.Errorf("%d figures about %v, want 7 about 65 minutes: %q", len(d.all), span, shorts(d.all))
	}
}

// If a log is read days after it was written, such as the log of an earlier JVM, the delay must not lengthen its span.
func TestFiguresOfALogThatIsReadLate(t *testing.T) {
	read := start.Add(48 * time.Hour)
	d := newTallied(read)
	d.read(stopAt(0, 1e6), stopAt(time.Minute, 1e6))
	d.Idle(read.Add(time.Second), read.Add(time.Minute))
	d.end()
	if got, want := shorts(d.all), []string{"12:00-12:01 span 1m0s stops 2"}; !slices.Equal(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
}

// Figures never describe more than one JVM.
func TestFiguresEndWithTheirJVM(t *testing.T) {
	d := newTallied(time.Time{})
	again := func(up time.Duration) string { // ten minutes later, by another JVM
		return strings.Replace(stopAt(up, 1e6), start.Add(up).Format("15:04"), start.Add(up+10*time.Minute).Format("15:04"), 1)
	}
	d.read(stopAt(time.Second, 1e6), stopAt(5*time.Minute, 1e6), again(time.Second), again(time.Minute))
	d.end()
	if got, want := shorts(d.all), []string{"12:00-12:05 span 5m0s stops 2", "12:05-12:11 span 1m0s stops 2"}; !slices.Equal(got, want) || d.all[0].Run == d.all[1].Run {
		t.Errorf("figures %q of runs %d and %d\nwant %q, of two runs", got, d.all[0].Run, d.all[len(d.all)-1].Run, want)
	}
}

// If two JVMs write to one file, its figures say only that they are mixed.
func TestFiguresOfMixedLogsAreEmpty(t *testing.T) {
	d := newTallied(time.Time{})
	d.read(stopAt(time.Second, time.Millisecond))
	d.Run(&Run{Number: 1, Mixed: true}, start, start)
	d.end()
	if len(d.all) != 1 || !d.all[0].Mixed || d.all[0].Stopped > 0 || len(d.all[0].Stops.counts) > 0 {
		t.Errorf("figures %+v, want a single one with Mixed set and nothing else", d.all)
	}
}

// When the clock is set back, the current figures end.
func TestFiguresEndWhenTheClockIsSetBack(t *testing.T) {
	d := newTallied(start.Add(time.Hour))
	back := func(up time.Duration) string { // eight hours earlier
		return strings.Replace(stopAt(up, 1e6), start.Add(up).Format("T15"), start.Add(up-8*time.Hour).Format("T15"), 1)
	}
	d.read(stopAt(0, 1e6), stopAt(time.Minute, 1e6), back(2*time.Minute), back(3*time.Minute))
	d.end()
	if got, want := shorts(d.all), []string{"12:00-12:01 span 1m0s stops 2", "04:02-04:03 span 2m0s stops 2"}; !slices.Equal(got, want) {
		t.Errorf("figures %q\nwant %q", got, want)
	}
}

// The figures of real logs add up to the stops of their records and can be read back from their fields.
func TestFiguresOfRealLogs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d samples, %v; want some", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := newTallied(time.Time{})
		stops, stopped, mixed := uint64(0), time.Duration(0), false
		count := NewJoiner(Handlers{Stop: func(p *Stop) { stops, stopped = stops+1, stopped+p.Duration }, Run: func(r *Run) { mixed = mixed || r.Mixed }})
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			d.read(line)
			count.Line([]byte(line), ul.Class{})
		}
		d.end()
		count.Flush()
		if mixed {
			stops, stopped = 0, 0 // such figures are empty
		}
		var got uint64
		var sum time.Duration
		for _, f := range d.all {
			if f.Since.IsZero() || !ul.Believed(f.Since) { // lines without a date: a sidecar would use the time at which it read them
				f.Since, f.Until = start, start
			}
			fields := map[string]string{}
			for pair := range slices.Chunk(f.Fields(), 2) {
				fields[pair[0]] = pair[1]
			}
			back, ok := ReadFigures(func(key string) string { return fields[key] })
			if again := back.Fields(); !ok || !slices.Equal(again[:fixedFields], f.Fields()[:fixedFields]) {
				t.Errorf("%s: %q are read back as %q, %v; want the same fields and true", file, f.Fields(), again, ok)
			}
			n, _ := countsOf(&back.Stops)
			got, sum = got+n, sum+back.Stopped
		}
		if got != stops || sum != stopped {
			t.Errorf("%s: the figures have %d stops of %v, want %d of %v", file, got, sum, stops, stopped)
		}
	}
}

// fixedFields is the number of keys and values before those of the stops, whose buckets may be finer after reading.
const fixedFields = 28

func TestWhatIsNotFigures(t *testing.T) {
	good := map[string]string{"since": start.Format(ul.TimeLayout), "until": start.Add(time.Minute).Format(ul.TimeLayout), "stopped": "3ms", "heap": "4096", "stops": "5:1"}
	read := func(with map[string]string) bool {
		_, ok := ReadFigures(func(key string) string {
			if text, set := with[key]; set {
				return text
			}
			return good[key]
		})
		return ok
	}
	if !read(nil) {
		t.Fatal("good figures are refused, want them accepted")
	}
	for _, c := range [][2]string{{"since", ""}, {"since", "now"}, {"until", start.Add(-time.Second).Format(ul.TimeLayout)}, {"stopped", "-1s"}, {"stopped", "0s"}, {"stopped", "3"},
		{"stopped", "99999999h"}, {"heap", "-1"}, {"heap", "0"}, {"heap", fmt.Sprint(uint64(math.MaxUint64))}, {"stops", "6:1"}} {
		if read(map[string]string{c[0]: c[1]}) {
			t.Errorf("%s=%s is accepted, want it refused", c[0], c[1])
		}
	}
}
