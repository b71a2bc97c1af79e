package report

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// TestBadInputIsAProblemOfTheReport uses logs that a report can use only in part. The report must
// name the problem and be right about the rest.
func TestBadInputIsAProblemOfTheReport(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kind       string // of the problem
		complete   bool
		stops      uint64
	}{
		{"cut at both ends", "Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.0ms\n" + young(1, 2, 1) + young(2, 3, 1)[:60], "unread", false, 1},
		{"cut after the sizes", young(1, 2, 1) + strings.TrimSuffix(young(2, 3, 123.4), "00ms\n"), "unread", false, 1},
		{"cut without decorations", "GC(1) Pause Full (System.gc()) 40M->10M(64M) 2.000ms\nGC(2) Pause Full (System.gc()) 40M->10M(64M) 123.4", "unread", false, 1},
		{"cut in a safepoint", young(1, 2, 1) + strings.TrimSpace(decorated(3, "safepoint", `Safepoint "Cle`)), "unread", false, 1},
		{"ends with an announcement", young(1, 2, 1) + strings.TrimSpace(decorated(3, "gc,start", "GC(2) Pause Full (System.gc())")), "", true, 1},
		{"ends without its newline", young(1, 2, 1) + strings.TrimSpace(young(2, 3, 1)), "", true, 2},
		{"a form of another release", young(1, 2, 1) + decorated(3, "gc", "GC(2) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.345 ms"), "unread", false, 1},
		{"log4j text", "10:00:00 INFO hello\n" + young(1, 2, 1) + "10:00:00 INFO <b>world</b>\n", "foreign", true, 1},
		{"a very long line", young(1, 2, 1) + strings.Repeat("x", 1<<20) + "\n" + young(2, 3, 1), "long", true, 2},
		{"holes", strings.Repeat("\x00", 1<<20) + young(1, 2, 1), "hole", false, 1},
		{"clock set back", young(1, 20, 1) + strings.Replace(young(2, 21, 1), "T10:00:21", "T09:00:00", 1), "clock", true, 2},
		{"dropped by the JVM", young(1, 2, 1) + "[2.5s][warning][]    293 messages dropped due to async logging\n", "jvm-async", false, 1},
		{"dropped by the sidecar", young(1, 2, 1) + "[2026-11-20T10:00:02.500+0000][warning][ullage] gap: 12 lines, 999 bytes dropped in 1.000s: discard info=12\n" + young(2, 5, 1), "dropped", false, 2},
		{"no stops", decorated(1, "gc", "Using G1") + decorated(9, "gc,init", "Version: 25.0.3+9"), "", true, 0},
		{"no times", "[info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.0ms\n", "undated", true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reportOn(t, Config{}, write(t, "gc.log", c.text))
			if has(r, c.kind) != (c.kind != "") || r.Totals.Throughput != nil && c.stops == 0 || r.Complete != c.complete || r.Totals.Stops != c.stops {
				t.Errorf("complete %v, %d stops, problems %+v; want %v, %d, the problem %q, and no throughput without stops",
					r.Complete, r.Totals.Stops, r.Problems, c.complete, c.stops, c.kind)
			}
			for _, write := range []func(*bytes.Buffer) error{
				func(b *bytes.Buffer) error { return view.HTML(b, r) },
				func(b *bytes.Buffer) error { return view.JSON(b, r) },
				func(b *bytes.Buffer) error { return view.Text(b, view.Style{}, r) },
			} {
				if err := write(new(bytes.Buffer)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestTwoJVMsInOneFileHaveNoThroughput(t *testing.T) {
	var log strings.Builder
	for i := range 20 {
		log.WriteString(young(100+i, float64(300+i), 2))
		if i > 10 {
			log.WriteString(strings.Replace(young(i-11, float64(i), 2), "T10:00", "T10:05", 1))
		}
	}
	r := reportOn(t, Config{}, write(t, "gc.log", log.String()))
	if !has(r, "mixed") || r.Complete || has(r, "clock") || r.Totals.Stops != 29 {
		t.Errorf("complete %v, %d stops, problems %+v; want complete false, 29 stops and the problem mixed, but not the problem clock", r.Complete, r.Totals.Stops, r.Problems)
	}
	if r.Totals.Throughput != nil || r.Totals.Span > 0 || r.Worst() != nil || r.Rate("allocated") != "–" {
		t.Errorf("want no totals over time with a run of two JVMs: %+v", r.Totals)
	}
	if last := r.Runs[len(r.Runs)-1]; last.Throughput != nil || last.Allocated != nil {
		t.Errorf("want no figures over time for a run of two JVMs: %+v", last)
	}
}

// TestTwoJVMsThatStartedTogetherHaveNoThroughput has lines of two JVMs that alternate at equal
// uptimes.
func TestTwoJVMsThatStartedTogetherHaveNoThroughput(t *testing.T) {
	var log strings.Builder
	for i := range 20 {
		log.WriteString(young(i, float64(i+1), 2) + young(i, float64(i+1), 3))
	}
	r := reportOn(t, Config{}, write(t, "gc.log", log.String()))
	if !has(r, "mixed") || r.Complete || r.Totals.Throughput != nil || r.Runs[0].Allocated != nil || r.Totals.Stops != 40 {
		t.Errorf("%+v, problems %+v; want 40 stops, a problem mixed, an incomplete report, and neither throughput nor allocation", r.Totals, r.Problems)
	}
}

// A JVM writes its collections to one file, and the classes that it loads to another, which shows no stops.
func TestAStreamWithoutStopsIsNotInTheThroughput(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "gc.log", young(0, 1, 500)+young(1, 11, 500))
	put(t, dir, "classes.log", "[1.000s][info][class,load] java.lang.Object source: jrt:/java.base\n[101.000s][info][class,load] java.lang.String source: jrt:/java.base\n")
	r := reportOn(t, Config{}, dir)
	if x := &r.Totals; x.Stops != 2 || x.Span != 10 || x.Throughput == nil || *x.Throughput != 0.9 {
		t.Errorf("the totals are %+v, want 2 stops in 10 s and a throughput of 0.9", r.Totals)
	}
	for _, run := range r.Runs {
		if (run.Throughput == nil) != (run.Stream == "classes.log") {
			t.Errorf("the throughput of %s is %v, want one only for gc.log", run.Stream, run.Throughput)
		}
	}
}

// TestAStopWithoutASpanIsNotInTheThroughput has two streams, one of which is a single line:
// the log does not show the span of time that its stop is a part of.
func TestAStopWithoutASpanIsNotInTheThroughput(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.log", young(0, 1, 500)+young(1, 2, 500)+young(2, 11, 500))
	put(t, dir, "b.log", young(0, 5, 90000))
	r := reportOn(t, Config{}, dir)
	if x := &r.Totals; x.Stops != 4 || x.Outside != 1 || x.Span != 10 || x.Throughput == nil || *x.Throughput != 0.85 || !has(r, "outside") {
		t.Errorf("the totals are %+v, the problems %+v; want 4 stops, 1 outside, a span of 10, a throughput of 0.85 and a problem outside", r.Totals, r.Problems)
	}
	var page, text bytes.Buffer
	if err := errors.Join(view.HTML(&page, r), view.Text(&text, view.Style{}, r)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "throughput 85.00 %, of 3 of these stops") || !strings.Contains(page.String(), "throughput, of 3 of 4 stops") || strings.Contains(page.String(), "stopped, of") {
		t.Errorf("the report does not say that its throughput covers 3 of 4 stops:\n%s", text.String())
	}
}

// TestALateStopIsNoStepOfTheClock has a log with dates but without uptimes and safepoints: the
// joiner delays its stops.
func TestALateStopIsNoStepOfTheClock(t *testing.T) {
	var log strings.Builder
	when := at(t, "2026-11-20T10:00:00Z")
	for i := range 100 {
		fmt.Fprintf(&log, "[%s][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.000ms\n", when.Format("2006-01-02T15:04:05.000-0700"), i)
		when = when.Add(10 * time.Second)
	}
	r := reportOn(t, Config{}, write(t, "gc.log", log.String()))
	if has(r, "clock") || r.Totals.Span != 990 || r.Totals.Throughput == nil || r.Totals.Stops != 100 {
		t.Errorf("%+v, problems %+v; want 100 stops, a span of 990, a throughput and no problem of the clock", r.Totals, r.Problems)
	}
}

// TestAClockThatWasSetForwardIsCountedOnce has a step of the clock that stops show before other
// lines do.
func TestAClockThatWasSetForwardIsCountedOnce(t *testing.T) {
	var log strings.Builder
	for i := range 100 {
		line := young(i, float64(i), 2)
		if i >= 50 {
			line = strings.Replace(line, "T10:", "T11:", 1)
		}
		log.WriteString(line)
	}
	if r := reportOn(t, Config{}, write(t, "gc.log", log.String())); !has(r, "clock") || r.Problems[0].Count != 1 || r.Totals.Span != 99 {
		t.Errorf("%+v, problems %+v; want a problem of the clock, the first problem counted once, and a span of 99", r.Totals, r.Problems)
	}
}

func TestNothingToReportOnIsAnError(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "another program's": "hello\nworld\n", "binary": "\x7fELF\x00\x01"} {
		_, err := Read(t.Context(), []string{write(t, "gc.log", text)}, Config{})
		if !errors.Is(err, ErrNoLog) {
			t.Errorf("%s: the error is %v, want ErrNoLog", name, err)
		}
	}
	dateless := write(t, "gc.log", "[1.000s][info][gc] GC(0) Pause Full (System.gc()) 9M->8M(34M) 1.000ms\n")
	if _, err := Read(t.Context(), []string{dateless}, Config{Since: time.Now().Add(-time.Hour)}); !errors.Is(err, ErrNoDate) || errors.Is(err, ErrNoLog) {
		t.Errorf("in a window of a log without dates: %v, want ErrNoDate, and not ErrNoLog", err)
	}
	if _, err := Read(t.Context(), []string{filepath.Join(t.TempDir(), "none")}, Config{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v, want %v", err, os.ErrNotExist)
	}
	if _, err := Read(t.Context(), []string{os.DevNull}, Config{}); err == nil {
		t.Error("a device is read as a log, want an error")
	}
	if _, err := Read(t.Context(), []string{t.TempDir()}, Config{}); err == nil {
		t.Error("an empty directory is read as a log, want an error")
	}
}

func TestWhatDoesNotDecodeIsNamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.log": young(1, 2, 1), "b.log.gz": "not gzip", "c.log.zst": "not zstd"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := reportOn(t, Config{}, dir)
	unreadable := 0
	for _, p := range r.Problems {
		if p.Kind == "unreadable" && p.Loses {
			unreadable++
		}
	}
	if unreadable != 2 || r.Complete || r.Totals.Stops != 1 {
		t.Errorf("the problems are %+v, the totals %+v, want unreadable 2, Complete false and Stops 1", r.Problems, r.Totals)
	}
}

// TestAFileIsReadOnce names a file several times: directly, through a link, and through its directory.
func TestAFileIsReadOnce(t *testing.T) {
	dir := segments(t, 3)
	segs, err := segment.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "gc.log")
	if err := os.Symlink(segs[1].Path, link); err != nil {
		t.Fatal(err)
	}
	r := reportOn(t, Config{}, dir, segs[0].Path, link)
	if !has(r, "again") || !r.Complete || r.Totals.Stops != 6 || len(r.Inputs) != 1 {
		t.Errorf("the totals are %+v, the inputs %+v, the problems %+v; want a complete report of 6 stops from 1 input, with a problem again", r.Totals, r.Inputs, r.Problems)
	}
}

func TestACompressedFileNeedsNoSuffix(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, young(0, 1, 2))
	enc, err := zstd.NewWriter(nil)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"gzip": zipped.Bytes(), "zstd": enc.EncodeAll([]byte(young(0, 1, 2)), nil)} {
		if r := reportOn(t, Config{}, write(t, "gc.log", string(text))); r.Totals.Stops != 1 || !r.Complete {
			t.Errorf("%s: the totals are %+v, the problems %+v, want Stops 1 and Complete true", name, r.Totals, r.Problems)
		}
	}
}

func TestALogMayBePackedWithAWindowOf128MiB(t *testing.T) {
	text := young(0, 1, 2)
	packed := func(window byte) string { // a file of one block, with this window descriptor
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window, byte(1 | len(text)<<3), byte(len(text) >> 5), 0}
		return write(t, "gc.log.zst", string(frame)+text)
	}
	if r := reportOn(t, Config{}, packed(17<<3)); r.Totals.Stops != 1 || !r.Complete { // as zstd --long=27 does
		t.Errorf("128 MiB: %+v, %+v, want Stops 1 and Complete true", r.Problems, r.Totals)
	}
	if r, err := Read(t.Context(), []string{packed(17<<3 | 1)}, Config{}); err == nil {
		t.Errorf("144 MiB: %+v, %+v, want an error", r.Problems, r.Totals)
	}
}

func TestALinkIsFollowedIfItIsNamed(t *testing.T) {
	dir := t.TempDir()
	secret := write(t, "secret.log", young(1, 2, 1))
	link := filepath.Join(dir, "gc.log")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if r := reportOn(t, Config{}, link); r.Inputs[0].Name != "gc.log" || r.Totals.Stops != 1 {
		t.Errorf(`the inputs are %+v, want Name "gc.log" and Stops 1`, r.Inputs)
	}
	if _, err := Read(t.Context(), []string{dir}, Config{}); err == nil {
		t.Error("a link in a directory was followed, want an error")
	}
	if err := (&file{path: link}).open(&read.Source{}); err == nil {
		t.Error("a link that took a file's place was followed, want an error")
	}
}

// hostile is log text that would add scripts to a page if it were not escaped.
const hostile = `</script><script>document.title="owned"</script><img src=x onerror=alert(1)>"'` + "`{{.}}"

func TestTextOfTheLogStaysText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `<b>&"'.log`)
	log := "[2026-11-20T10:00:00.000+0000][0.1s][info][gc,init] Version: " + hostile + "\n" +
		decorated(1, "gc", "Using G1") +
		decorated(2, "safepoint", `Safepoint "`+hostile[:40]+`", Time since last: 5 ns, Reaching safepoint: 6 ns, At safepoint: 7 ns, Total: 13 ns`) +
		decorated(3, "gc", "GC(1) Pause Young (<script>) 24M->5M(64M) 2.0ms") + "[x<script>][info][<i>] a\n"
	if err := os.WriteFile(dir, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	r := reportOn(t, Config{}, dir)
	r.Advice = []view.Advice{{Text: hostile, Evidence: hostile}}
	r.Longest = append(r.Longest, view.Stop{Cause: hostile, Lines: []string{hostile}})
	r.Suspected = append(r.Suspected, &view.Stop{Cause: hostile, Suspicion: hostile, Before: []string{hostile}, Lines: []string{hostile}, After: []string{hostile}})
	r.Causes = append(r.Causes, view.Spread{Name: hostile})
	r.Runs[0].Settings = []view.Setting{{Name: hostile, Value: hostile}}
	r.Runs[0].Version, r.Runs[0].Flags = hostile, hostile
	r.Bands = []view.Band{{Kind: "dropped", Text: hostile}}
	r.Problems = []view.Problem{{Kind: hostile, Text: hostile}}
	r.Volume.Tags = append(r.Volume.Tags, view.Share{Name: hostile})
	var page bytes.Buffer
	if err := view.HTML(&page, r, r); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := strings.Count(text, "<script"); n != 3 {
		t.Errorf("%d scripts, want two with data and one of ours", n)
	}
	for _, bad := range []string{"<img", "<b>&\"", "<script>document", "<i>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %s, want it escaped", bad)
		}
	}
}
