package report

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/read/report/view"
)

var update = flag.Bool("update", false, "write the reports in testdata instead of comparing them")

// samples has real logs of JDK 17 and 25 with each collector.
const samples = "../../line/pause/testdata/"

// reportOn reports on files.
func reportOn(t *testing.T, cfg Config, paths ...string) *view.Report {
	t.Helper()
	r, err := Read(t.Context(), paths, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write writes a log to a new directory.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRealLogsGiveTheseReports compares whole reports. `go test ./internal/read/report
// -update` writes them.
func TestRealLogsGiveTheseReports(t *testing.T) {
	for _, name := range []string{"g1-jdk17", "serial-jdk25", "shenandoah-jdk17", "z-jdk25", "no-decorators-jdk17"} {
		r := reportOn(t, Config{}, samples+name+".log")
		r.Name = name
		var text, object bytes.Buffer
		if err := view.Text(&text, view.Style{}, r); err != nil {
			t.Fatal(err)
		}
		if err := view.JSON(&object, r); err != nil {
			t.Fatal(err)
		}
		compareFile(t, "testdata/"+name+".txt", text.Bytes())
		if strings.HasPrefix(name, "g1-jdk17") {
			compareFile(t, "testdata/"+name+".json", object.Bytes())
		}
	}
}

func compareFile(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// decorated returns a line as HotSpot writes it, the given number of seconds after ten
// o'clock.
func decorated(second float64, tags, message string) string {
	return fmt.Sprintf("[2026-11-20T10:%02d:%06.3f+0000][%.3fs][info][%s] %s\n", int(second)/60, second-float64(int(second)/60*60), second, tags, message)
}

func young(gc int, second, ms float64) string {
	return decorated(second, "gc", fmt.Sprintf("GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) %.3fms", gc, ms))
}

func TestARotatedSetIsOneStreamInTheOrderOfItsDates(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, young(0, 1, 2))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	put("gc.log.1.gz", zipped.Bytes())
	put("gc.log.0.zst", enc.EncodeAll([]byte(young(1, 2, 3)), nil))
	put("gc.log.2", []byte(young(2, 11, 4)))
	put("gc.log", nil) // the JVM has just begun it
	put("notes.txt", []byte("not a log"))
	r := reportOn(t, Config{}, dir)
	if len(r.Inputs) != 1 || r.Inputs[0].Files != 4 || len(r.Runs) != 1 || r.Totals.Stops != 3 || r.Runs[0].Span != 10 || len(r.Problems) > 0 {
		t.Errorf("inputs %+v, runs %+v, problems %+v; want 1 input of 4 files, 1 run with a span of 10, 3 stops and no problem", r.Inputs, r.Runs, r.Problems)
	}
}

func TestSeveralRunsOfJVMs(t *testing.T) {
	path := write(t, "gc.log", decorated(0, "gc", "Using G1")+young(0, 1, 10)+young(1, 61, 10)+
		strings.ReplaceAll(decorated(0, "gc", "Using Serial")+young(0, 1, 20)+young(1, 3, 20), "T10:", "T11:"))
	r := reportOn(t, Config{}, path)
	if len(r.Runs) != 2 || r.Runs[0].Collector != "G1" || r.Runs[1].Collector != "Serial" {
		t.Fatalf(`the runs are %+v, want 2 in Runs, Collector "G1" and Collector "Serial"`, r.Runs)
	}
	if a, b := &r.Runs[0], &r.Runs[1]; a.Span != 61 || b.Span != 3 || a.Stops != 2 || b.Stops != 2 || *a.Throughput != 1-0.02/61 {
		t.Errorf("the runs are %+v\nand %+v\nwant spans of 61 and 3, 2 stops each, and a throughput of %v in the first", a, b, 1-0.02/61)
	}
	if len(r.Bands) != 1 || r.Bands[0].Kind != "restart" {
		t.Errorf(`the bands are %+v, want 1 in Bands and Kind "restart"`, r.Bands)
	}
}

func TestTwoOutputsOfOneJVMAreAProblemButNotALoss(t *testing.T) {
	stops := young(0, 1, 10) + young(1, 61, 10)
	one := decorated(0, "gc", "Using G1") + stops
	for _, c := range []struct {
		name   string
		other  string // the name of the second log
		log    string // its lines
		remark bool
	}{
		{"both have the stops", "safepoint.log", stops, true},
		{"the other has no stops", "class.log", decorated(2, "class,load", "a class"), false},
		{"the other is of a JVM that started an hour later", "other.log", strings.ReplaceAll(stops, "T10:", "T11:"), false},
		{"the other is of the same name, as in another pod", "gc.log", stops, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reportOn(t, Config{}, write(t, "gc.log", one), write(t, c.other, c.log))
			if has(r, "outputs") != c.remark || !r.Complete {
				t.Errorf("complete %v, problems %+v; want a complete report, and the problem outputs: %v", r.Complete, r.Problems, c.remark)
			}
		})
	}
}

func TestAWindowInTime(t *testing.T) {
	path := write(t, "gc.log", "[0.500s][info][gc] undated\n"+young(0, 1, 1)+young(1, 5, 2)+"further line\n"+young(2, 9, 3)+"[9.500s][info][gc] later by its uptime\n")
	cfg := Config{Since: at(t, "2026-11-20T10:00:04Z"), Until: at(t, "2026-11-20T10:00:06Z")}
	r := reportOn(t, cfg, path)
	if r.Totals.Stops != 1 || r.Totals.Paused != 0.002 || r.Inputs[0].Lines != 2 {
		t.Errorf("totals %+v, inputs %+v, want Stops 1, Paused 0.002 and Lines 2", r.Totals, r.Inputs)
	}
	if !has(r, "undated") || r.Complete || r.Problems[len(r.Problems)-1].Count != 1 {
		t.Errorf("complete %v, problems %+v; want complete false, a problem undated, and the last one counted once", r.Complete, r.Problems)
	}
}

// The only time that is known for a file of undated lines is its last write: all its lines were written by then.
func TestAFileThatWasLastWrittenBeforeTheWindowHasNoLineInIt(t *testing.T) {
	path := write(t, "gc.log", "[0.500s][info][gc] undated\n")
	written := at(t, "2026-11-20T10:00:00Z")
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
	_, err := Read(t.Context(), []string{path}, Config{Since: written.Add(time.Second)})
	if !errors.Is(err, ErrNoLog) || errors.Is(err, ErrNoDate) || !strings.Contains(err.Error(), "no line is in the requested window") {
		t.Errorf("%v, want that no line is in the requested window", err)
	}
	if _, err := Read(t.Context(), []string{path}, Config{Since: written.Add(-time.Second)}); !errors.Is(err, ErrNoDate) {
		t.Errorf("the error is %v, want %v", err, ErrNoDate)
	}
}

// The idle time before the last line of a log belongs to the log.
func TestALogEndsWithItsLastLine(t *testing.T) {
	path := write(t, "gc.log", young(0, 1, 10)+young(1, 2, 10)+decorated(101, "gc,heap,exit", "Heap")+"a further line\n")
	if r := reportOn(t, Config{}, path); r.Totals.Span != 100 || r.Runs[0].End-r.Runs[0].Begin != 100 {
		t.Errorf("the totals are %+v, the runs %+v, want Span 100 and r.Runs[0].End-r.Runs[0].Begin 100", r.Totals, r.Runs)
	}
}

func has(r *view.Report, kind string) bool {
	for _, p := range r.Problems {
		if string(p.Kind) == kind {
			return true
		}
	}
	return false
}

// axis returns the position of a time in ns on the axis.
func axis(at int64) float64 { return float64(at/1e6) / 1e3 }
