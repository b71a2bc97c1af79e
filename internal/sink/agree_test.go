package sink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/cat"
	"github.com/ullage/ullage/internal/check"
	"github.com/ullage/ullage/internal/owner"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
)

// line is what a reader says about a line.
type line struct {
	Time  time.Time
	Level string
	Run   int
	Text  string
}

// commit is what a sidecar commits at once, and when it had read the last of it.
type commit struct {
	after time.Duration
	text  string
}

func undated(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i += 10 {
		fmt.Fprintf(&b, "[%d.000s][info][gc] GC(%d)\n", i, i)
	}
	return b.String()
}

func dated(begin time.Time, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "[%s][%d.000s][debug][gc] GC(%d)\n and more of it\n", begin.Add(time.Duration(i)*time.Second).Format("2006-01-02T15:04:05.000-0700"), i, i)
	}
	return b.String()
}

// Whoever reads a copy says the same about each line: that is the one test that finds a
// second rule.
func TestAllReadersAgreeOnEachLine(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	for name, stream := range map[string][]commit{
		"an hour of undated lines that a late sidecar finds": {{0, undated(10, 3610)}},
		"... in several commits":                             {{0, undated(10, 1010)}, {0, undated(1010, 2010)}, {0, undated(2010, 3610)}, {time.Second, undated(3610, 3620)}},
		"dated lines":                                        {{0, dated(now.Add(-time.Hour), 0, 100)}, {time.Second, dated(now.Add(-time.Hour), 100, 110)}},
		"dated and undated":                                  {{0, undated(10, 100) + dated(now.Add(-time.Hour), 100, 110) + undated(110, 130)}},
		"two JVMs":                                           {{0, undated(10, 1010) + undated(0, 500)}, {time.Second, undated(500, 510)}},
		"two JVMs, the second longer":                        {{0, undated(10, 510)}, {0, undated(0, 1000)}, {0, undated(1000, 2000)}},
		"a clock that is set back":                           {{0, dated(now.Add(-time.Minute), 0, 10)}, {time.Second, dated(now.Add(-2*time.Hour), 10, 20)}, {2 * time.Second, undated(20, 60)}},
		"dates and uptimes that nobody believes":             {{0, undated(10, 50) + "[9999-11-21T10:59:58.123+0100][info][gc] one\n[99999999999.000s][info][gc] two\n" + undated(50, 90)}},
		"a gap, and a line that has no level":                {{0, undated(10, 50) + "[" + now.Add(-time.Second).Format("2006-01-02T15:04:05.000-0700") + "][warning][ullage] gap: 1290 lines, 123456 bytes dropped in 12.345s: discard info=1200 debug=34; drop warning=6 info=50\n[60.000s][gc] two\n"}},
		"a line over several commits":                        {{0, undated(10, 50) + "[60.000s][info][gc] " + strings.Repeat("x", 3000)}, {time.Second, strings.Repeat("y", 3000)}, {2 * time.Second, "z\n" + undated(70, 90)}},
	} {
		for _, how := range []segment.Compression{segment.Zstd, segment.Gzip, segment.None} {
			t.Run(name+"/"+how.String(), func(t *testing.T) {
				dir := persist(t, how, stream)
				printed, delivered := catLines(t, dir), sinkLines(t, dir)
				if len(printed) == 0 {
					t.Fatal("nothing is printed")
				}
				for i := range min(len(printed), len(delivered)) {
					p, d := printed[i], delivered[i]
					p.Run, p.Time = 0, p.Time.Truncate(time.Millisecond)
					if d.Time = d.Time.Truncate(time.Millisecond); p != d {
						t.Fatalf("line %d:\nprinted   %+v\ndelivered %+v", i, short(p), short(d))
					}
				}
				if len(printed) != len(delivered) {
					t.Fatalf("%d lines are printed, and %d delivered", len(printed), len(delivered))
				}
				want, got := runsOf(printed), checkRuns(t, dir)
				if name == "dated and undated" || name == "a clock that is set back" { // dates displace estimates in the range of a run
					for i := range want {
						want[i].First, want[i].Last = got[i].First, got[i].Last
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("runs (-printed +checked)\n%s", d)
				}
				if strings.HasPrefix(name, "dates and") || strings.HasPrefix(name, "dated") || strings.HasPrefix(name, "a clock") {
					return
				}
				written := time.Now().Add(3 * time.Second) // commits are said to be up to 2 s apart
				for _, l := range printed {
					if l.Time.After(written) {
						t.Fatalf("%+v is in the future", short(l))
					}
				}
			})
		}
	}
}

func short(l line) line { l.Text = l.Text[:min(len(l.Text), 60)]; return l }

// persist makes a destination of one stream.
func persist(t *testing.T, how segment.Compression, stream []commit) string {
	t.Helper()
	dir := t.TempDir()
	cfg := segment.DefaultConfig()
	cfg.Compress = how
	store, err := segment.Open(dir, cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := store.Stream("gc.log")
	if err := s.Resume(segment.Mark{}, 0); err != nil {
		t.Fatal(err)
	}
	var begun time.Time // when the first commit was read
	for _, c := range stream {
		err := s.Append([]byte(c.text))
		if err == nil {
			_, err = s.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		if begun.IsZero() {
			begun = time.Now()
		}
		s.SeenUntil(begun.Add(c.after))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// catLines returns what `ullage cat --json` prints.
func catLines(t *testing.T, dir string) (lines []line) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := cat.New(cat.Config{JSON: true}, &stdout, &stderr)
	for _, err := range p.Find([]string{dir}) {
		t.Fatal(err)
	}
	if err := p.Run(context.Background()); err != nil || stderr.Len() > 0 {
		t.Fatal(err, stderr.String())
	}
	for text := range strings.Lines(stdout.String()) {
		var l struct {
			Time  time.Time
			Level string
			Run   int
			Text  string
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Level == "" {
			l.Level = "unknown"
		}
		lines = append(lines, line{l.Time.UTC(), l.Level, l.Run, l.Text})
	}
	return lines
}

// taking is a sink that takes everything.
type taking struct{ lines []line }

func (s *taking) Deliver(_ context.Context, b *sink.Batch) error {
	for _, l := range b.Lines {
		text := string(l.Text)
		for strings.HasPrefix(text, "[") { // as --json prints the message alone
			if _, rest, ok := strings.Cut(text, "]"); ok {
				text = strings.TrimPrefix(rest, " ")
				continue
			}
			break
		}
		s.lines = append(s.lines, line{Time: l.Time, Level: l.Level.String(), Text: text})
	}
	return nil
}

func (s *taking) Close() error { return nil }

// sinkLines returns what a sink gets of a destination that is complete.
func sinkLines(t *testing.T, dir string) []line {
	t.Helper()
	to := &taking{}
	if err := sink.Feed(context.Background(), filepath.Join(dir, "gc.log"), "gc.log", to); err != nil {
		t.Fatal(err)
	}
	return to.lines
}

// results are the runs that a check finds.
type results struct{ runs []check.Run }

func (r *results) Lack(owner.Lack) error     { return nil }
func (r *results) Stream(check.Stream) error { return nil }
func (r *results) Run(run check.Run) error   { r.runs = append(r.runs, run); return nil }

// run is what can be compared of a run.
type run struct {
	First, Last time.Time
	Lines       int
	Levels      string
}

func checkRuns(t *testing.T, dir string) (runs []run) {
	t.Helper()
	r := &results{}
	if _, err := check.Streams(context.Background(), dir, []string{"gc.log"}, check.Config{}, r); err != nil {
		t.Fatal(err)
	}
	for _, one := range r.runs {
		levels, err := json.Marshal(one.Levels)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{one.First.UTC().Truncate(time.Millisecond), one.Last.UTC().Truncate(time.Millisecond), int(one.Lines), string(levels)})
	}
	return runs
}

// runsOf sums up lines as a check does: without markers, which have no run of their own.
func runsOf(lines []line) (runs []run) {
	levels, at := map[string]int{}, 0
	end := func() {
		if len(runs) > 0 {
			text, _ := json.Marshal(levels)
			runs[len(runs)-1].Levels = string(text)
		}
		levels = map[string]int{}
	}
	for _, l := range lines {
		if strings.HasPrefix(l.Text, "gap: ") {
			continue
		}
		if l.Run != at || len(runs) == 0 {
			end()
			at = l.Run
			runs = append(runs, run{First: l.Time, Last: l.Time})
		}
		r := &runs[len(runs)-1]
		r.Lines++
		levels[l.Level]++
		if l.Time.Before(r.First) {
			r.First = l.Time
		}
		if l.Time.After(r.Last) {
			r.Last = l.Time
		}
	}
	end()
	return runs
}
