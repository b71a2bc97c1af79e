package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/owner"
	"github.com/ullage/ullage/internal/segment/store"
)

// results collects the findings of a check.
type results struct {
	runs    []Run
	streams []Stream
	fail    error
}

func (r *results) Lack(owner.Lack) error { return r.fail }

func (r *results) Run(run Run) error {
	r.runs = append(r.runs, run)
	return r.fail
}

func (r *results) Stream(s Stream) error {
	r.streams = append(r.streams, s)
	return r.fail
}

// copied is a durable copy that a test writes.
type copied struct {
	t     testing.TB
	dir   string
	cfg   store.Config
	store *store.Store
}

func newCopied(t testing.TB, how segment.Compression, segmentBytes settings.Size) *copied {
	c := &copied{t: t, dir: t.TempDir(), cfg: store.DefaultConfig()}
	c.cfg.Compress, c.cfg.SegmentBytes = how, segmentBytes
	var err error
	if c.store, err = store.Open(c.dir, c.cfg, nil, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// stream returns a new stream.
func (c *copied) stream(name string) *store.Stream {
	s := c.store.Stream(name)
	c.must(s.Resume(segment.Mark{}, 0))
	return s
}

func (c *copied) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// commit appends one frame and commits it.
func (c *copied) commit(s *store.Stream, raw string) segment.Mark {
	c.t.Helper()
	c.must(s.Append([]byte(raw)))
	m, err := s.Sync()
	c.must(err)
	return m
}

func (c *copied) check(cfg Config) (*results, Total) {
	c.t.Helper()
	names, err := cfg.Names(c.dir)
	c.must(err)
	r := &results{}
	total, err := Streams(context.Background(), c.dir, names, cfg, r)
	c.must(err)
	return r, total
}

// A check of a stream that a sidecar is writing ends with the data that was there at the
// time, and does not report damage.
func TestACopyThatGrowsIsComplete(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		t.Run(how.String(), func(t *testing.T) {
			c := newCopied(t, how, settings.Ki)
			s := c.stream("gc.log")
			for i := range 50 {
				c.must(s.Append([]byte(fmt.Sprintf("[%d.000s][info][gc] one of the many lines that are in this log\n", i))))
				if i%3 == 0 { // the other lines are not committed
					_, err := s.Sync()
					c.must(err)
				}
				r, total := c.check(Config{})
				if !total.Complete || total.Lines != uint64(i+1) || total.Runs != 1 || r.streams[0].OpenBytes != 0 {
					t.Fatalf("after %d lines: %+v, %+v; want a complete copy with each line, one run and no OpenBytes", i+1, total, r.streams)
				}
			}
		})
	}
}

// In a power cut, one write may be lost while the next one reaches the disk. Without compression, no checksum reveals that.
func TestZerosOfAPowerCutAreDamagedBytes(t *testing.T) {
	c := newCopied(t, segment.None, settings.Mi)
	line := "[0.000s][info][gc] " + strings.Repeat("x", 108) + "\n"
	c.commit(c.stream("gc.log"), line+strings.Repeat("\x00", 512-len(line))+line+"[1.000s][info][gc] a NUL \x00 of its own\n")
	r, total := c.check(Config{})
	if got, want := r.streams[0].DamagedBytes, int64(512-len(line)); total.Complete || total.Lines != 3 || got != want {
		t.Errorf("got %d damaged bytes, want %d; %+v", got, want, total)
	}
}

// After a kill, some segment numbers are never used again. That does not mean that segments are missing.
func TestANumberThatARestartPassedOverIsNotMissing(t *testing.T) {
	c := newCopied(t, segment.None, settings.Ki)
	line := "[0.100s][info][gc] " + strings.Repeat("x", 2000) + "\n"
	s := c.stream("gc.log")
	m := c.commit(s, line)
	c.must(s.Append([]byte(line))) // in a segment of its own, and then the writer is killed
	s.Abandon()
	c.must(s.Resume(m, store.Unbounded))
	c.commit(s, line)
	r, total := c.check(Config{})
	if !total.Complete || total.Lines != 2 || r.streams[0].Segments != 2 {
		t.Fatalf("the total is %+v, the streams are %+v, want Complete true, Lines 2 and Segments 2", total, r.streams)
	}
	c.commit(s, line)
	segs, err := segment.List(filepath.Join(c.dir, "gc.log"))
	c.must(err)
	c.must(os.Remove(segs[1].Path)) // the writer of this segment recorded that the number before it is not missing
	r, total = c.check(Config{})
	if total.Complete || r.streams[0].Missing != 2 {
		t.Errorf("the total is %+v, the streams are %+v, want Complete false and Missing 2", total, r.streams)
	}
}

// The lines of one JVM must not be counted for the next JVM, and a marker must not be counted as a line.
func TestRunsAreCountedApart(t *testing.T) {
	c := newCopied(t, segment.Zstd, settings.Mi)
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	at := func(seconds int, up, level, text string) string {
		return fmt.Sprintf("[%s][%ss][%s][gc] %s\n", begin.Add(time.Duration(seconds)*time.Second).Format("2006-01-02T15:04:05.000-0700"), up, level, text)
	}
	gap := ul.Gap{Bytes: 70, First: begin.Add(90 * time.Second), Last: begin.Add(95 * time.Second)}
	gap.Lines[ul.DropAll][ul.Info] = 7
	s := c.stream("gc.log")
	c.commit(s, at(0, "100.000", "info", "one")+" of two lines\n"+at(60, "160.000", "error", "two"))
	c.commit(s, at(80, "0.010", "info", "another JVM")+string(gap.AppendMarker(nil))+at(100, "20.000", "debug", "end"))
	r, total := c.check(Config{})
	want := []Run{
		{Stream: "gc.log", Run: 1, Counts: Counts{First: begin, Last: begin.Add(time.Minute), Lines: 3, Levels: Levels{ul.Info: 2, ul.Error: 1}}},
		{Stream: "gc.log", Run: 2, Counts: Counts{First: begin.Add(80 * time.Second), Last: begin.Add(100 * time.Second), Lines: 2,
			Levels: Levels{ul.Info: 1, ul.Debug: 1}, Gaps: 1, Dropped: Reason{ul.DropAll: {ul.Info: 7}}, GapBytes: 70}},
	}
	if d := cmp.Diff(want, r.runs); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if st := r.streams[0]; st.Lines != 5 || st.Runs != 2 || st.Gaps != 1 || st.Complete() || total.Complete || !st.First.Equal(begin) {
		t.Errorf("the stream is %+v, the total %+v; want 5 lines in 2 runs since %s, with 1 gap, and neither complete", st, total, begin)
	}
	// A gap that overlaps the window is counted.
	if _, total := c.check(Config{Since: begin.Add(94 * time.Second)}); total.Complete || total.Lines != 1 {
		t.Errorf("the total is %+v, want Complete false and Lines 1", total)
	}
	if _, total := c.check(Config{Since: begin.Add(96 * time.Second)}); !total.Complete || total.Lines != 1 {
		t.Errorf("the total is %+v, want Complete true and Lines 1", total)
	}
}

// The time of a marker is from the sidecar's clock. It must not be used as the time of lines
// without dates.
func TestAMarkerDoesNotDateUndatedLines(t *testing.T) {
	c := newCopied(t, segment.Zstd, settings.Mi)
	gap := ul.Gap{Bytes: 70, First: time.Now(), Last: time.Now()}
	gap.Lines[ul.DropAll][ul.Info] = 7
	c.commit(c.stream("gc.log"), "[0.100s][info][gc] one\n"+string(gap.AppendMarker(nil))+"[5.000s][info][gc] two\n")
	r, _ := c.check(Config{})
	if run := r.runs[0]; !run.Estimated || run.Last.Sub(run.First) < 4*time.Second {
		t.Errorf("the run is %+v, want Estimated true and at least 4 s from First to Last", run)
	}
}

// A file that cannot be opened is reported, and the check continues.
func TestASegmentThatCannotBeOpened(t *testing.T) {
	c := newCopied(t, segment.None, settings.Ki)
	line := "[0.100s][info][gc] " + strings.Repeat("x", 2000) + "\n"
	s := c.stream("gc.log")
	for range 3 {
		c.commit(s, line)
	}
	segs, err := segment.List(filepath.Join(c.dir, "gc.log"))
	c.must(err)
	c.must(os.Chmod(segs[1].Path, 0))
	if f, err := os.Open(segs[1].Path); err == nil {
		f.Close()
		// Root can read any file. So the test replaces the stream with a link, which the check never follows.
		c.must(os.Rename(filepath.Join(c.dir, "gc.log"), filepath.Join(c.dir, "was")))
		c.must(os.Symlink("was", filepath.Join(c.dir, "gc.log")))
		r := &results{}
		total, err := Streams(context.Background(), c.dir, []string{"gc.log", "was"}, Config{}, r)
		if err != nil || total.Complete || r.streams[0].Unreadable != 1 || r.streams[0].Error == "" || r.streams[1].Lines != 3 {
			t.Errorf("the total is %+v, the streams are %+v, error %v; want an incomplete copy, 1 unreadable with an error, then 3 lines, and no error", total, r.streams, err)
		}
		return
	}
	r, total := c.check(Config{})
	if st := r.streams[0]; total.Complete || st.Unreadable != 1 || st.Error == "" || st.Lines != 2 {
		t.Errorf("the stream is %+v, the total %+v; want Complete false in the total, 1 in Unreadable, an Error and 2 lines", st, total)
	}
}

func TestAReceiverAndAContextEndTheCheck(t *testing.T) {
	c := newCopied(t, segment.None, settings.Ki)
	c.commit(c.stream("gc.log"), "[10.000s][info][gc] one\n[0.100s][info][gc] two\n")
	full := errors.New("no space")
	r := &results{fail: full}
	if _, err := Streams(context.Background(), c.dir, []string{"gc.log"}, Config{}, r); !errors.Is(err, full) || len(r.runs) != 1 {
		t.Errorf("error %v after %d runs, want \"no space\" and 1 run", err, len(r.runs))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Streams(ctx, c.dir, []string{"gc.log"}, Config{}, &results{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A record that lost a part is persisted as it arrived: all lines are there, but the copy is not complete.
func TestAStreamWithAShortenedRecordIsNotComplete(t *testing.T) {
	c := newCopied(t, segment.Zstd, 1<<20)
	at := time.Date(2026, 11, 21, 10, 49, 0, 0, time.UTC)
	record := "[2026-11-21T10:49:00.000+0000][error][event] [main] com.example.Db failed\njava.lang.Exception\n"
	c.commit(c.stream("events-7.log"), record+string(ul.AppendShortened(nil, at, ul.Error))+record)
	c.commit(c.stream("events-8.log"), record+"[2026-11-21T10:49:00.000+0000][error][event] [ullage] cut: a part of the record before this line is missing\n")
	got, total := c.check(Config{})
	if s := got.streams[0]; s.Shortened != 1 || s.Complete() || s.Lines != 5 || s.Levels[ul.Error] != 5 {
		t.Errorf("the stream is %+v, want 1 in Shortened, 5 lines, 5 of level error, and not complete", s)
	}
	if s := got.streams[1]; s.Shortened != 0 || !s.Complete() {
		t.Errorf("the stream without a shortened record is %+v, want 0 in Shortened, and complete", s)
	}
	if total.Complete || total.Incomplete != 1 {
		t.Errorf("the total is %+v, want Complete false and Incomplete 1", total)
	}
}
