package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// persisted makes a destination of one stream whose commits were read one minute apart. It returns
// the directory of the stream and the time at which the first commit was read.
func persisted(t *testing.T, how segment.Compression, commits []string) (dir string, begun time.Time) {
	t.Helper()
	dir = t.TempDir()
	cfg := store.DefaultConfig()
	cfg.Compress = how
	durable, err := store.Open(dir, cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := durable.Stream("gc.log")
	if err := s.Resume(segment.Mark{}, 0); err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	for i, text := range commits {
		err := s.Append([]byte(text))
		if err == nil {
			_, err = s.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		s.SeenUntil(begun.Add(time.Duration(i) * time.Minute))
	}
	if err := durable.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "gc.log"), begun
}

// A destination shows when lines without a date were written, and where the lines of a
// window are.
func TestAWindowOfUndatedLinesReadsOnlyItsPartOfADestination(t *testing.T) {
	const minutes, each = 60, 200
	var commits []string
	for m := range minutes {
		var b strings.Builder
		for i := range each {
			fmt.Fprintf(&b, "[%.3fs][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 1.000ms\n", float64(m*60)+float64(i+1)*0.3, m*each+i)
		}
		commits = append(commits, b.String())
	}
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		t.Run(how.String(), func(t *testing.T) {
			dir, begun := persisted(t, how, commits)
			since, until := begun.Add(29*time.Minute), begun.Add(30*time.Minute)
			r := reportOn(t, Config{Since: since, Until: until}, dir)
			if r.Totals.Stops < each-2 || r.Totals.Stops > each+2 || !r.Complete || !r.Dated || !r.Estimated || len(r.Runs) != 1 || r.Totals.Throughput == nil {
				t.Errorf("%d stops, want about %d; complete %v, dated %v, estimated %v, runs %+v, problems %+v", r.Totals.Stops, each, r.Complete, r.Dated, r.Estimated, r.Runs, r.Problems)
			}
			if r.Begin < float64(since.UnixMilli()-1)/1e3 || r.End > float64(until.UnixMilli()+1)/1e3 {
				t.Errorf("from %v to %v, want it between %v and %v", r.Begin, r.End, since.Unix(), until.Unix())
			}
			whole := reportOn(t, Config{}, dir)
			most := whole.Inputs[0].Bytes / 10
			if how == segment.None { // a frame has many commits
				most = whole.Inputs[0].Bytes * 3 / 4
			}
			if got := r.Inputs[0].Bytes; got > most {
				t.Errorf("%d bytes were read, want at most %d of %d", got, most, whole.Inputs[0].Bytes)
			}
			if whole.Totals.Stops != minutes*each || whole.Totals.Suspected > 0 || has(whole, "clock") {
				t.Errorf("of the whole log: %+v, problems %+v; want %d stops, none of them suspected, and no problem of the clock", whole.Totals, whole.Problems, minutes*each)
			}
		})
	}
}

// Package clock accepts dates from 1970 to 2199. For any other line, package clock is
// needed to find the time.
func TestOnlyADateThatIsBelievedIsTheTimeOfALine(t *testing.T) {
	for line, want := range map[string]bool{
		"[2026-11-20T10:00:00.000+0000][1.000s][info][gc] a": true,
		"[1970-01-01T10:00:00.000+0000] a":                   true,
		"[1969-11-20T10:00:00.000+0000] a":                   false,
		"[9999-11-20T10:00:00.000+0000] a":                   false,
		"[1.000s][info][gc] a":                               false,
		"[1234-5":                                            false,
		"":                                                   false,
		"[2026":                                              false,
	} {
		if got := showsDate([]byte(line)); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
