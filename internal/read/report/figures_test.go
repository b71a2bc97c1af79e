package report

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment/clock"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// figuresMark returns a mark with figures of ten minutes that begin the given number of minutes after noon. They have n
// stops of the given length.
func figuresMark(stream string, minute, n int, length time.Duration, with func(*pause.Figures)) mark.Mark {
	since := noon.Add(time.Duration(minute) * time.Minute)
	f := pause.Figures{Since: since, Until: since.Add(10 * time.Minute), Span: 10 * time.Minute, Stopped: time.Duration(n) * length, Longest: length}
	for range n {
		f.Stops.Add(length)
	}
	if with != nil {
		with(&f)
	}
	m := mark.New(mark.JVMFigures, append([]string{"stream", stream}, f.Fields()...)...)
	m.Time = f.Until
	return m
}

// Without reading a log, a report can be made from the figures in a sidecar's marks.
func TestFiguresOfMarks(t *testing.T) {
	dest := t.TempDir()
	var text []byte
	for _, m := range []mark.Mark{
		figuresMark("gc.log", 0, 100, 10*time.Millisecond, func(f *pause.Figures) {
			f.Heap, f.Allocated, f.Allocating, f.Full = 300<<20, 600<<20, time.Minute, 1
		}),
		figuresMark("gc.log", 10, 100, 20*time.Millisecond, func(f *pause.Figures) {
			f.Heap, f.Allocated, f.Allocating, f.Suspected = 200<<20, 600<<20, time.Minute, 2
		}),
		figuresMark("safepoint.log", 10, 1, 3*time.Second, func(f *pause.Figures) { f.Reaching, f.Heap = time.Second, 0 }),
	} {
		text = m.Append(text)
	}
	persist(t, dest, mark.Stream, string(text))

	if _, err := Read(t.Context(), []string{dest}, Config{}); !errors.Is(err, ErrNoLog) {
		t.Errorf("without Config.Logs: error %v, want %v", err, ErrNoLog)
	}
	logs := map[string]clock.Window{dest: {Since: noon, Until: noon.Add(20 * time.Minute)}}
	r, err := Read(t.Context(), []string{dest}, Config{Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 0.02*want {
			t.Errorf("%s is %s, want %v", what, shown(got), want)
		}
	}
	stops := r.Spreads[0]
	near("p50", stops.Percentiles.P50, 0.020)
	near("p99", stops.Percentiles.P99, 0.020)
	near("the longest stop", &stops.Max, 3)
	near("the throughput", r.Totals.Throughput, 1-6.0/1800)
	near("the time", &r.Totals.Span, 1800)
	near("the rate", r.Runs[len(r.Runs)-1].Allocated, 10<<20)
	if got, want := fmt.Sprintf("%d %d %d %s %v %v", r.Totals.Stops, r.Totals.Full, r.Totals.Suspected, r.HeapAfter(), r.Complete, r.Spreads[1].Max), "201 1 2 200 MiB true 1"; got != want {
		t.Errorf("stops, full collections, suspected, heap, complete, time to safepoint: %s, want %s", got, want)
	}
	early, err := Read(t.Context(), []string{dest}, Config{Logs: logs, Until: noon.Add(14 * time.Minute)})
	if err != nil || early.Totals.Stops != 100 {
		t.Errorf("until 12:14: %+v, %v; want the 100 stops of the ten minutes whose middle is before that", early, err)
	}
}

// For every collector, the figures in a sidecar's marks agree with those from the log.
func TestFiguresAgreeWithTheLog(t *testing.T) {
	files, err := filepath.Glob("../../line/pause/testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("samples %q, %v, want some", files, err)
	}
	compared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var marks []byte
		reg := prometheus.NewRegistry()
		in := insight.New(insight.DefaultConfig(), trigger.New(trigger.Config{}, nil, reg), func(m mark.Mark) {
			m.Time = time.Now()
			marks = m.Append(marks)
		}, reg, slog.New(slog.DiscardHandler))
		var classes ul.Classifier
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			in.Line("gc.log", line, classes.Classify(line))
		}
		in.Finish()
		of, err := Read(t.Context(), []string{file}, Config{})
		if err != nil || of.Totals.Mixed || of.Totals.Stops == 0 {
			continue // not the log of a single JVM, or a log without stops
		}
		compared++
		dest := t.TempDir()
		persist(t, dest, mark.Stream, string(marks))
		by, err := Read(t.Context(), []string{dest}, Config{Logs: map[string]clock.Window{}})
		if err != nil {
			t.Errorf("%s: %v; want a report from its marks", file, err)
			continue
		}
		var fleet view.Fleet
		fleet.Add("", of)
		fleet.Add("", by)
		fleet.Compare()
		for i, figure := range fleet.Figures {
			a, b := fleet.Logs[0].Values[i], fleet.Logs[1].Values[i]
			off := 0.02
			if i == 0 || i > 6 { // over the span of the log: marks do not cover the lines after the last event
				if off = 0.25; a != nil && *fleet.Logs[0].Values[0] > off {
					continue // an excerpt that consists almost only of stops
				}
			}
			if (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > off*max(*a, *b) {
				t.Errorf("%s: %s is %s and %s, want the same within %v", file, figure.Name, shown(a), shown(b), off)
			}
		}
	}
	if compared < 10 {
		t.Errorf("%d samples were compared, want 10 or more", compared)
	}
}

func shown(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

// If the marks show that lines are missing, the report is incomplete.
func TestFiguresThatLackSomething(t *testing.T) {
	for name, c := range map[string]struct {
		also mark.Mark
		lost uint64
		want view.ProblemKind
	}{
		"nothing":               {mark.New(mark.JVMSeen), 0, ""},
		"the JVM dropped lines": {mark.New(mark.JVMSeen), 3, view.ProblemAsync},
		"archives are missing":  {mark.New(mark.ArchivesMissed, "stream", "gc.log", "count", "1"), 0, view.ProblemMissed},
	} {
		t.Run(name, func(t *testing.T) {
			c.also.Time = noon.Add(5 * time.Minute)
			r, err := marksOf(t, Config{}, clock.Window{Since: noon, Until: noon}, c.also, figuresMark("gc.log", 0, 5, time.Millisecond, func(f *pause.Figures) { f.Lost = c.lost }))
			if err != nil {
				t.Fatal(err)
			}
			var lost []view.ProblemKind
			for _, p := range r.Problems {
				if p.Loses {
					lost = append(lost, p.Kind)
				}
			}
			if got := fmt.Sprint(lost); r.Complete != (c.want == "") || c.want != "" && got != fmt.Sprint([]view.ProblemKind{c.want}) {
				t.Errorf("complete %v, problems %s; want %q", r.Complete, got, c.want)
			}
		})
	}
}

// marksOf reads a report from marks. logs is the window in which the segments of the log were begun.
func marksOf(t *testing.T, cfg Config, logs clock.Window, marks ...mark.Mark) (*view.Report, error) {
	t.Helper()
	dest := t.TempDir()
	var text []byte
	for _, m := range marks {
		text = m.Append(text)
	}
	persist(t, dest, mark.Stream, string(text))
	cfg.Logs = map[string]clock.Window{dest: logs}
	return Read(t.Context(), []string{dest}, cfg)
}

// Marks are used only if they cover the whole log, each part of it exactly once.
func TestMarksThatAreNotAboutAllOfALog(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	ten := func(minute int) mark.Mark { return figuresMark("gc.log", minute, 5, time.Millisecond, nil) }
	when := func(minute int, m mark.Mark) mark.Mark {
		m.Time = at(minute)
		return m
	}
	with := func(set func(*pause.Figures)) mark.Mark { return figuresMark("gc.log", 10, 5, time.Millisecond, set) }
	hour := clock.Window{Since: at(0), Until: at(60)}
	all := []mark.Mark{ten(0), ten(10), ten(20), ten(30), ten(40), ten(50)}
	started := func(minute int, after string) mark.Mark {
		return when(minute, mark.New(mark.SidecarStarted, "after", after))
	}
	for name, c := range map[string]struct {
		cfg   Config
		logs  clock.Window
		marks []mark.Mark
		want  string // empty: the marks are used
	}{
		"all":                         {Config{}, hour, all, ""},
		"a first sidecar":             {Config{}, hour, append([]mark.Mark{started(0, "first-start")}, all...), ""},
		"a window":                    {Config{Since: at(5), Until: at(55)}, hour, all, ""},
		"a kill before the window":    {Config{Since: at(30)}, hour, []mark.Mark{ten(0), started(16, "kill"), figuresMark("gc.log", 17, 5, time.Millisecond, nil), ten(27), figuresMark("gc.log", 37, 5, time.Millisecond, nil), figuresMark("gc.log", 47, 5, time.Millisecond, nil)}, ""},
		"a restart before the window": {Config{Since: at(30)}, hour, []mark.Mark{ten(0), started(16, "kill"), ten(20), ten(30), ten(40), ten(50)}, ""},
		"a restart":                   {Config{}, hour, []mark.Mark{ten(0), started(10, "clean-stop"), ten(10), ten(20), ten(30), ten(40), ten(50)}, "started again"},
		"suppressed marks":            {Config{}, hour, append([]mark.Mark{ten(0), when(11, mark.New(mark.MarksSuppressed, "count", "1"))}, all[1:]...), "suppressed"},
		"a hole":                      {Config{}, hour, []mark.Mark{ten(0), ten(10), ten(30), ten(40), ten(50)}, "missing"},
		"an overlap":                  {Config{}, hour, []mark.Mark{ten(0), figuresMark("gc.log", 5, 5, time.Millisecond, nil), figuresMark("gc.log", 15, 5, time.Millisecond, nil)}, "missing"},
		"a late begin":                {Config{}, hour, all[2:], "but the log covers"},
		"an early end":                {Config{}, hour, all[:4], "but the log covers"},
		"an early end in the window":  {Config{Until: at(60)}, clock.Window{Since: at(0), Until: at(300)}, all[:4], "but the log covers"},
		"a pod that had ended":        {Config{Until: at(300)}, clock.Window{Since: at(0), Until: at(45)}, all, ""},
		"none":                        {Config{}, hour, []mark.Mark{when(1, mark.New(mark.JVMSeen))}, "no figures"},
		"unreadable":                  {Config{}, hour, append([]mark.Mark{when(1, mark.New(mark.JVMFigures, "stream", "gc.log", "since", "never"))}, all...), "cannot be read"},
		"two JVMs":                    {Config{}, hour, []mark.Mark{ten(0), with(func(f *pause.Figures) { f.Mixed = true })}, "exact"},
		"coarse":                      {Config{}, hour, []mark.Mark{ten(0), coarse()}, "exact"},
		"long figures at an edge":     {Config{Since: at(30)}, hour, []mark.Mark{with(func(f *pause.Figures) { f.Since, f.Until = at(0), at(50) }), ten(50)}, "edge"},
		"idle at an edge":             {Config{Since: at(30)}, hour, []mark.Mark{figuresMark("gc.log", 0, 0, 0, func(f *pause.Figures) { f.Until = at(50) }), ten(50)}, "edge"},
		"allocated before":            {Config{Since: at(30)}, hour, []mark.Mark{ten(0), ten(10), ten(20), figuresMark("gc.log", 30, 5, time.Millisecond, func(f *pause.Figures) { f.Allocated, f.Allocating = 1, 39*time.Minute }), ten(40), ten(50)}, "include allocations"},
		"many streams":                {Config{}, hour, many(func(i int) mark.Mark { return figuresMark(fmt.Sprintf("%d.log", i), 0, 5, time.Millisecond, nil) }), "too many streams"},
		"many JVMs": {Config{}, hour, many(func(i int) mark.Mark {
			return figuresMark("gc.log", 10*i, 5, time.Millisecond, func(f *pause.Figures) { f.Run = i })
		}), "too many JVMs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := marksOf(t, c.cfg, c.logs, c.marks...)
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrUnmarked) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// many returns 300 marks.
func many(one func(i int) mark.Mark) (all []mark.Mark) {
	for i := range 300 {
		all = append(all, one(i))
	}
	return all
}

// The heap and the allocation rate are figures of each JVM, not of two JVMs together.
func TestFiguresOfTwoJVMs(t *testing.T) {
	r, err := marksOf(t, Config{}, clock.Window{Since: noon, Until: noon},
		figuresMark("gc.log", 0, 5, time.Second, func(f *pause.Figures) {
			f.Run, f.Heap, f.Allocated, f.Allocating = 1, 300<<20, 600<<20, time.Minute
		}),
		figuresMark("gc.log", 10, 5, time.Second, func(f *pause.Figures) { f.Run = 2 }))
	if err != nil {
		t.Fatal(err)
	}
	if heap := r.HeapAfter(); len(r.Runs) != 2 || heap != "–" || r.Runs[1].Allocated != nil {
		t.Errorf("%d runs, the heap is %s, the rate of the last run %s; want 2 runs, and neither a heap nor a rate for the last one", len(r.Runs), heap, shown(r.Runs[1].Allocated))
	}
}

// coarse returns a mark with figures whose stops are in coarse buckets.
func coarse() mark.Mark {
	m := figuresMark("gc.log", 10, 5, time.Millisecond, nil)
	for i := range m.Fields {
		if m.Fields[i].Key == "stops" {
			m.Fields[i].Value = "3:100*5"
		}
	}
	return m
}
