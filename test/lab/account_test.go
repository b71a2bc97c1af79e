package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	BeFlood()
	os.Exit(m.Run())
}

// lines returns the complete lines of a report with their levels, and the cut last line if there is
// one.
func lines(r FloodReport) (texts []string, levels []Level, held string) {
	t := newTruth(r)
	for {
		line, ok := t.read()
		if !ok {
			return texts, levels, string(t.held)
		}
		texts, levels = append(texts, string(line.text)), append(levels, line.level)
	}
}

// marker returns the marker for discarded lines.
func marker(texts []string, levels []Level) string {
	var c Counts
	for _, l := range levels {
		c[l]++
	}
	return fmt.Sprintf("[2026-11-21T10:49:00.123+0000][warning][ullage] gap: %d lines, %d bytes dropped in 12.345s: discard %s\n",
		len(texts), len(strings.Join(texts, "")), c)
}

func settleText(t *testing.T, r FloodReport, text string) Account {
	t.Helper()
	dest := t.TempDir()
	if err := os.Mkdir(filepath.Join(dest, "gc.log"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dest, "gc.log", "a-000001.log"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Settle(dest, "gc.log", r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func report(seed, records uint64, losses ...Loss) FloodReport {
	r := NewRecords(seed)
	for range records {
		r.Next()
	}
	return FloodReport{Seed: seed, Records: records, Lines: r.Lines(), Losses: losses}
}

// Each case has at most one defect, which must be noticed.
func TestSettle(t *testing.T) {
	r := report(3, 2000)
	l, levels, _ := lines(r)
	all := func(from, to int) string { return strings.Join(l[from:to], "") }
	gap := marker(l[500:800], levels[500:800])
	for _, c := range []struct {
		name, text string
		exact      bool
	}{
		{"everything", all(0, len(l)), true},
		{"a gap with its marker", all(0, 500) + gap + all(800, len(l)), true},
		{"a gap at the end", all(0, len(l)-9) + marker(l[len(l)-9:], levels[len(l)-9:]), true},
		{"a gap at the beginning", marker(l[:9], levels[:9]) + all(9, len(l)), true},
		{"a gap of two markers", all(0, 500) + marker(l[500:600], levels[500:600]) + marker(l[600:800], levels[600:800]) + all(800, len(l)), true},
		{"no marker", all(0, 500) + all(800, len(l)), false},
		{"a line less at the end", all(0, len(l)-1), false},
		{"the marker a line early", all(0, 499) + gap + all(499, 500) + all(800, len(l)), false},
		{"the marker a line late", all(0, 500) + all(800, 801) + gap + all(801, len(l)), false},
		{"a marker without a gap", all(0, 500) + gap + all(500, len(l)), false},
		{"a line more is missing", all(0, 500) + gap + all(801, len(l)), false},
		{"a line less is missing", all(0, 500) + gap + all(799, len(l)), false},
		{"another line is missing", all(0, 499) + gap + all(799, len(l)), len(l[499]) == len(l[799]) && levels[499] == levels[799]},
		{"another level", all(0, 500) + strings.Replace(gap, "trace=", "error=", 1) + all(800, len(l)), false},
		{"other bytes", all(0, 500) + strings.Replace(gap, "lines, ", "lines, 1", 1) + all(800, len(l)), false},
		{"a marker of another form", all(0, 500) + strings.Replace(gap, "dropped in", "dropped  in", 1) + all(800, len(l)), false},
		{"twice", all(0, 500) + all(499, len(l)), false},
		{"in another order", all(0, 500) + l[501] + l[500] + all(502, len(l)), false},
		{"a byte is changed", strings.Replace(all(0, len(l)), "abc", "abd", 1), false},
		{"a foreign line", all(0, 500) + "hello\n" + all(500, len(l)), false},
		{"a line that comes later", all(0, len(l)) + strings.Replace(l[0], "#0000000000", fmt.Sprintf("#%010d", len(l)), 1), false},
		{"nothing", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := settleText(t, r, c.text)
			if a.Exact() != c.exact {
				t.Errorf("exact: %t, want %t: %s", a.Exact(), c.exact, a)
			}
			if sum := a.Written.Total(); c.exact && sum != a.Persisted.Total()+a.Dropped.Total().Total() || sum != len(l) {
				t.Errorf("the account of %d lines is %s; want all of them written, and, if the account is exact, each of them persisted or dropped", len(l), a)
			}
		})
	}
}

// Losses of the writer itself do not count as losses of the sidecar.
func TestSettleWithCutLines(t *testing.T) {
	whole := report(5, 1000)
	l, _, _ := lines(whole)
	r := report(5, 1000, Loss{Record: 10, Records: 1, Written: 33}, Loss{Record: 20, Records: 50, Written: 3}, Loss{Record: 100, Records: 7}, Loss{Record: 998, Records: 2, Written: 40})
	cut, levels, held := lines(r)
	if len(held) != 40 {
		t.Fatalf("%q is held, want 40 bytes", held)
	}
	text := strings.Join(cut, "")
	for _, c := range []struct {
		name, text string
		exact      bool
	}{
		{"without the last, cut line", text, true},
		{"with it, and a newline", text + held + "\n", true},
		{"with another end", text + held + ".\n", false},
		{"all of it missing, with a marker", marker(cut, levels), true},
		{"all missing, but the end", marker(cut, levels) + held + "\n", true},
		{"what was cut off is there", strings.Join(l, ""), false},
		{"a glued line is missing", strings.Replace(text, cut[10], "", 1), false},
	} {
		if a := settleText(t, r, c.text); a.Exact() != c.exact || a.Cut != len(l)-len(cut) || a.Loose == 0 {
			t.Errorf("%s: exact: %t, want %t; %d cut, want %d: %s", c.name, a.Exact(), c.exact, a.Cut, len(l)-len(cut), a)
		}
	}
}

// The lines of a report are the content of the file, byte for byte, even if the tmpfs was full for most of the time.
func TestFloodOfATmpfsThatIsFull(t *testing.T) {
	dir := Tmpfs(t, "2m")
	if InUse(dir) == 0 {
		NeedsRoot(t, "it mounts a tmpfs")
	}
	path := filepath.Join(dir, "gc.log")
	f := RunFlood(t, Flood{Path: path, Seed: 9, Rate: 20e6})
	Eventually(t, Patience, "the tmpfs is full", func() bool { return f.Lost() > 100 })
	f.Phase(1)
	// While the flood writes, the test frees space, a few pages at a time.
	var taken []byte
	for i := range 40 {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, punch(t, file, int64(len(taken)), (1+i%5)*4096)...)
		file.Close()
		time.Sleep(5 * time.Millisecond)
	}
	r, err := f.Stop()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(got, taken)
	l, _, held := lines(r)
	if want := []byte(strings.Join(l, "") + held); !bytes.Equal(got, want) {
		t.Errorf("the %d bytes of the file differ from the %d of the report", len(got), len(want))
	}
	if int64(len(got)) != r.Bytes || len(r.Losses) < 10 {
		t.Errorf("%d bytes in the file, %d in the report, %d losses; want the same number of bytes, and at least 10 losses", len(got), r.Bytes, len(r.Losses))
	}
	t.Logf("%d lines, %d bytes, %d losses; %s; %s", r.Lines, r.Bytes, len(r.Losses), f.Latency(0), f.Latency(1))
}

// Lines may be missing without a marker only if the checkpoint counts the same number as withheld.
func TestSettleWithheld(t *testing.T) {
	r := report(3, 2000)
	l, levels, _ := lines(r)
	var low Counts
	var above, gapped strings.Builder
	gap := marker(l[500:800], levels[500:800])
	lowOutside := Counts{}
	for i, text := range l {
		if i == 500 {
			gapped.WriteString(gap)
		}
		outside := i < 500 || i >= 800
		if levels[i] >= Info {
			above.WriteString(text)
			if outside {
				gapped.WriteString(text)
			}
			continue
		}
		low[levels[i]]++
		if outside {
			lowOutside[levels[i]]++
		}
	}
	other := low
	other[Debug], other[Trace] = other[Debug]+1, other[Trace]-1
	one := Counts{Debug: 1}
	for _, c := range []struct {
		name, text string
		withheld   Counts
		exact      bool
	}{
		{"all that is missing", above.String(), low, true},
		{"and a gap", gapped.String(), lowOutside, true},
		{"one more is counted", above.String(), low.plus(one), false},
		{"one less is missing", l[0] + above.String(), low, levels[0] >= Info},
		{"of another level", above.String(), other, false},
		{"a line above is missing too", strings.Replace(above.String(), l[slices.Index(levels, Info)], "", 1), low, false},
	} {
		dest := t.TempDir()
		if err := os.Mkdir(filepath.Join(dest, "gc.log"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dest, "gc.log", "a-000001.log"), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := SettleWithheld(dest, "gc.log", r, c.withheld)
		if err != nil || a.Exact() != c.exact {
			t.Errorf("%s: exact: %t, want %t: %s, error: %v", c.name, a.Exact(), c.exact, a, err)
		}
	}
}

// Joined together, the archives and the newest file have the bytes of the report.
func TestFloodThatRotates(t *testing.T) {
	path := filepath.Join(Tmpfs(t, "64m"), "gc.log")
	f := RunFlood(t, Flood{Path: path, Seed: 9, Rate: 10e6, Files: 1000, FileBytes: 100_000})
	Eventually(t, time.Minute, "the flood has rotated", func() bool { return f.Bytes() > 1e6 })
	r, err := f.Stop()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + ".*")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d archives, error %v; want at least 9 archives and no error", len(files), err)
	}
	var got strings.Builder
	for _, file := range append(files, path) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(text)
	}
	if l, _, _ := lines(r); got.String() != strings.Join(l, "") {
		t.Errorf("the %d bytes of the files differ from the %d of the report", got.Len(), r.Bytes)
	}
}
