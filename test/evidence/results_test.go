package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A record that is measured in parts keeps the parts that the last run did not measure, and says of each when it ran.
func TestARecordIsMeasuredInParts(t *testing.T) {
	of := func(version, date string, load float64, names ...string) *record {
		r := &record{sitting: sitting{Date: date + "T10:00:00Z", Command: "make evidence", Load: load, Machine: machine{Cores: 2, Versions: []string{"ullage " + version}}}, Contestants: []configured{{Name: "peer", Version: version}}}
		for _, name := range names {
			r.Experiments = append(r.Experiments, &experiment{Name: name})
		}
		return r
	}
	first := of("1", "2026-11-20", 9, "report", "catchup", "idle")
	first.Contestants = append(first.Contestants, configured{Name: "gone"})
	path := filepath.Join(t.TempDir(), "record.json")
	if err := merged(of("3", "2026-11-22", 0, "catchup"), merged(of("2", "2026-11-21", 0, "idle"), first)).save(path); err != nil {
		t.Fatal(err)
	}
	got, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, x := range got.Experiments {
		text = append(text, x.Name+": "+x.lasted())
	}
	want := []string{
		"catchup: 0 rounds.",
		"idle: 0 rounds; in an earlier run, of 2026-11-21, by `make evidence`, of ullage 2.",
		"report: 0 rounds; in an earlier run, of 2026-11-20, by `make evidence`, of ullage 1, on a busy machine.",
	}
	if !slices.Equal(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
	if got.Date != "2026-11-22T10:00:00Z" || len(got.Contestants) != 2 || got.Contestants[0].Version != "3" {
		t.Errorf("got a record of %s with the contestants %v, want the date of the last run, and its contestants before those that it lacks", got.Date, got.Contestants)
	}
}

// TestResultsAnswerFromTheRows checks that the figures in each answer are from the rows.
func TestResultsAnswerFromTheRows(t *testing.T) {
	for _, c := range []struct {
		name string
		rows []string
		f    []figures
		want []string
	}{
		{"stopped", []string{"JDK 17, rate: logging off", "JDK 17, rate: log on the disk", "JDK 17, rate: " + shippedLogging}, []figures{{"longest": 20}, {"longest": 30}, {"longest": 10}},
			[]string{"JDK 17, rate: the longest hiccup is 20 ms with logging off, 30 ms (1.5 times) with the log on the disk, and 10 ms (0.5 times) with `ullage`. No row of this group has more than twice"}},
		{"traced", []string{"JDK 25, rate: log on the disk"}, []figures{{"stalls": 32, "proven": 31, "longest": 815}}, []string{"JDK 25, rate: log on the disk: 32 stalls, 31 of them in a pause (the longest write takes 815 ms)."}},
		{"saturated", []string{"JDK 25, rate: logging off", "JDK 25, rate: log on the disk", "JDK 25, rate: " + shippedLogging}, []figures{{"longest": 20}, {"longest": 50}, {"longest": 10}},
			[]string{"50 ms (2.5 times) with the log on the disk, and 10 ms (0.5 times) with `ullage`."}},
		{"frozen", []string{"ullage, zstd", "a"}, []figures{{"lost": 0, "peak": 5, "crashed": 0, "spooled": 9.4}, {"lost": 3, "peak": 7, "crashed": 1}},
			[]string{"Exited without a signal and was not restarted: a.", "held 9.4 bytes", "5 to 7 MiB", "lost and repeated no line: ullage, zstd. The others did, at most in a round: a lost 3."}},
		{"hello", []string{"JDK 17, async, disk", "JDK 17, async, tmpfs", "JDK 17, async, tmpfs + ullage"}, []figures{{"wall": 3, "dropped": 0}, {"wall": 1, "dropped": 0}, {"wall": 2, "dropped": 7}},
			[]string{"JDK 17, async: 3 / 1 / 2 s.", "dropped lines in: JDK 17, async, tmpfs + ullage (7)."}},
		{"lines", []string{"1,000 lines/s", "1,000,000 lines/s"}, []figures{{"cpu": 1, "rss": 10}, {"cpu": 100.9, "rss": 10}},
			[]string{"From 1,000 lines/s to 1,000,000 lines/s, an additional line a second costs 1 µs of a core and 0 bytes"}},
		{"length", []string{"20 bytes", "1 MiB"}, []figures{{"cpu": 2, "rss": 10}, {"cpu": 1, "rss": 12}}, []string{"No: in lines of 20 bytes the same bytes cost 2 %", "10 to 12 MiB"}},
		{"soak", []string{"threads", "descriptors"}, []figures{{"slope": 0.5, "first": 8, "largest": 9}, {"slope": -1, "first": 8}}, []string{"this grew: threads by 0.5 (from 8, and at most to 9). All else"}},
		{"injector", []string{"Review", "Mutate"}, []figures{{"ns": 400_000}, {"ns": 600_000}}, []string{"A pod costs the injector 1 ms of CPU time: 400 µs for its review, and 600 µs"}},
		{"hindsight", []string{hindsightOff, hindsightHeld, hindsightSaved}, []figures{{"cpu": 100, "stored": 4}, {"cpu": 110, "stored": 1}, {"cpu": 150, "stored": 3}},
			[]string{"saving none, takes 110 % of the CPU time and 25 %", "saving all of them takes 150 % of the CPU time and 75 %"}},
		{"tried", []string{"read, write", "`sendfile`", loopName, loopName + ", the level above", pausePairs[0].on, pausePairs[1].on},
			[]figures{{"cpu": 1, "disk": 1024}, {"cpu": 3, "disk": 1024}, {"cpu": 2, "disk": 40}, {"cpu": 9, "disk": 30}, {"cpu": 2, "disk": 1024}, {"cpu": 4, "disk": 40}},
			[]string{"without compression (2 s/GiB): read, write (1). Less", "with zstd (4): read, compress, write (2).", "(40 MiB/GiB): read, compress, write, the level above (30)."}},
	} {
		x := &experiment{Name: c.name, Plot: "cpu", Columns: []column{{"cpu", "CPU"}}}
		for i, row := range c.rows {
			x.add(row, c.f[i])
		}
		for _, want := range c.want {
			if got := x.result(); !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", c.name, want, got)
			}
		}
	}
}

// TestExactContestantsAreListedOnce checks that names with different numbers of threads are joined.
func TestExactContestantsAreListedOnce(t *testing.T) {
	got := strings.Join(byThreads([]string{"a, b; threads: 1", "c", "a, b; threads: 50"}), "; ")
	if got != "a, b (threads: 1, 50); c" {
		t.Errorf("got %q, want a, b once, with both numbers of threads, before c", got)
	}
}

// TestPageTellsOfABusyMachineAndWhatWasNotRun checks that the page reports a busy machine and an
// experiment that was not run, and also has the other experiments.
func TestPageTellsOfABusyMachineAndWhatWasNotRun(t *testing.T) {
	x := &experiment{Name: "saturated", Title: "Saturated", Question: "Why?", Plot: "longest", NotRun: "it has no disk"}
	y := &experiment{Name: "y", Title: "Run", Seconds: 75}
	y.add("a", figures{})
	page := filepath.Join(t.TempDir(), "p.md")
	r := &record{sitting: sitting{Load: 9, Seconds: 1500, Machine: machine{Cores: 2, Versions: []string{"ullage 1", "jdk17"}}}, Experiments: []*experiment{x, y}}
	if err := r.write(page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**The machine was busy**", "every experiment has one round", "| JDKs | 17: all", "| duration | 25 minutes", "Why?\n\nNot run on this machine: it has no disk.\n\n## Run\n", "One round, 75 s."} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	y.add("a", figures{})
	r.Load = 1
	var s strings.Builder
	r.head(&s)
	if strings.Contains(s.String(), "busy") || !strings.Contains(s.String(), "median of the rounds") {
		t.Errorf("want \"median of the rounds\" and no \"busy\" in:\n%s", &s)
	}
}

// TestRepeatability checks the comparison of two measurements of the same thing.
func TestRepeatability(t *testing.T) {
	a, b := &experiment{Name: "catchup"}, &experiment{Name: "tried"}
	a.add(loopName, figures{"cpu": 1})
	b.add(loopName, figures{"cpu": 1.25})
	r := &record{Experiments: []*experiment{a, b}}
	if got := r.repeatability(); !strings.Contains(got, "up to 25 %: read, compress, write: 1 and 1.25.") {
		t.Errorf("got %q, want 1 and 1.25 as measurements of the same, 25 %% apart", got)
	}
	if got := (&record{Experiments: []*experiment{a}}).repeatability(); got != "" {
		t.Errorf("got %q, want nothing: there is no second measurement", got)
	}
}
