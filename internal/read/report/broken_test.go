package report

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment"
)

// segments writes a stream of n segments to a new directory. Each segment has two lines. The first
// segment begins at ten o'clock, and each further one ten seconds later.
func segments(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "gc.log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		start := time.Date(2026, 11, 20, 10, 0, 10*i, 0, time.UTC)
		put(t, dir, fmt.Sprintf("%s-%06d.log", start.Format("20060102T150405.000Z"), i+1), young(2*i, float64(10*i+1), 1)+young(2*i+1, float64(10*i+2), 1))
	}
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// remove removes the segment with the given number.
func remove(t *testing.T, dir string, number uint64) {
	t.Helper()
	segs, err := segment.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range segs {
		if seg.Seq == number {
			if err := os.Remove(seg.Path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// lacks returns the sum of the counts of a report's problems of one kind, if they mean lost lines.
func lacks(r *view.Report, kind string) (n uint64) {
	for _, p := range r.Problems {
		if string(p.Kind) == kind && p.Loses {
			n += p.Count
		}
	}
	return n
}

func TestASegmentThatIsMissingIsAProblemAndABand(t *testing.T) {
	dir := segments(t, 5)
	remove(t, dir, 3)
	r := reportOn(t, Config{}, dir)
	if lacks(r, "missing") != 1 || r.Complete {
		t.Errorf("complete %v, problems %+v; want complete false and 1 missing", r.Complete, r.Problems)
	}
	ten := float64(at(t, "2026-11-20T10:00:00Z").Unix())
	if len(r.Bands) != 1 || r.Bands[0].Kind != "missing" || r.Bands[0].Begin != ten+12 || r.Bands[0].End != ten+31 {
		t.Errorf("the bands are %+v, want one, missing from %v to %v", r.Bands, ten+12, ten+31)
	}
	for name, cfg := range map[string]Config{
		"a window after it":  {Since: at(t, "2026-11-20T10:00:35Z")},
		"a window before it": {Until: at(t, "2026-11-20T10:00:05Z")},
	} {
		if r := reportOn(t, cfg, dir); lacks(r, "missing") > 0 {
			t.Errorf("%s: the problems are %+v, want no missing segment", name, r.Problems)
		}
	}
}

// The figures do not depend on a report of a crash.
func TestAMissingSegmentOfACrashReportIsNoLoss(t *testing.T) {
	crash := segments(t, 3)
	remove(t, crash, 2)
	log := filepath.Join(filepath.Dir(crash), "hs_err_pid7.log")
	if err := os.Rename(crash, log); err != nil {
		t.Fatal(err)
	}
	if r := reportOn(t, Config{}, log, segments(t, 1)); !r.Complete || !has(r, "missing") {
		t.Errorf("complete %v, problems %+v; want a complete report with the problem missing", r.Complete, r.Problems)
	}
}

// A report treats retention as `ullage check` does: a stream may begin with any segment,
// unless its beginning is in the window.
func TestRetentionIsNoLoss(t *testing.T) {
	dir := segments(t, 4)
	remove(t, dir, 1)
	remove(t, dir, 2)
	if r := reportOn(t, Config{}, dir); !has(r, "retention") || lacks(r, "retention") > 0 || has(r, "missing") {
		t.Errorf("the problems are %+v, want retention, without a loss, and nothing missing", r.Problems)
	}
	if r := reportOn(t, Config{Since: at(t, "2026-11-20T10:00:01Z")}, dir); lacks(r, "retention") != 1 || r.Complete {
		t.Errorf("in a window that begins in the deleted part: complete %v, %+v; want complete false and 1 lost to retention", r.Complete, r.Problems)
	}
	segs, err := segment.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := reportOn(t, Config{}, segs[1].Path); has(r, "retention") {
		t.Errorf("for a single file: %+v, want no problem of retention", r.Problems)
	}
}

// TestAHoleAndAPartThatCannotBeReadAreBands uses plain files. The times of their lines show
// where the missing part is.
func TestAHoleAndAPartThatCannotBeReadAreBands(t *testing.T) {
	ten := float64(at(t, "2026-11-20T10:00:00Z").Unix())
	hole := reportOn(t, Config{}, write(t, "gc.log", young(1, 2, 1)+strings.Repeat("\x00", 8192)+young(2, 9, 1)+young(3, 10, 1)))
	if len(hole.Bands) != 1 || hole.Bands[0].Kind != "hole" || hole.Bands[0].Begin != ten+2 || hole.Bands[0].End != ten+9 {
		t.Errorf("the bands are %+v, want one, a hole from %v to %v", hole.Bands, ten+2, ten+9)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, young(0, 1, 2), young(1, 3, 2))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, "gc.log.0.gz", zipped.String()[:zipped.Len()-4])
	put(t, dir, "gc.log.1", young(2, 20, 1))
	r := reportOn(t, Config{}, dir)
	if len(r.Bands) != 1 || r.Bands[0].Kind != "unreadable" || r.Bands[0].Begin != ten+3 || r.Bands[0].End != ten+20 {
		t.Errorf("the bands are %+v, the problems %+v; want one band, unreadable from %v to %v", r.Bands, r.Problems, ten+3, ten+20)
	}
}
