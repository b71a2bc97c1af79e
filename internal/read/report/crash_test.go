package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/report/view"
)

// crashOf returns the beginning of a crash report from a real JVM.
func crashOf(t *testing.T, jdk string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/hs_err-" + jdk + ".log")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// forms returns a report as text, as a page and as JSON.
func forms(t *testing.T, r *view.Report) map[string]string {
	t.Helper()
	var text, page, object bytes.Buffer
	if err := errors.Join(view.Text(&text, view.Style{}, r), view.HTML(&page, r), view.JSON(&object, r)); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"text": text.String(), "page": page.String(), "JSON": object.String()}
}

func TestACrashIsTheNewsOfAReportAndNotAProblem(t *testing.T) {
	for jdk, want := range map[string]view.Crash{
		"jdk17": {At: 1795560900, Reason: "SIGSEGV (0xb) at pc=0x00007fb4c4398f14 (sent by kill), pid=7389, tid=7389"},
		"jdk25": {At: 1795560903, Reason: "SIGSEGV (0xb) at pc=0x00007fd613202f14 (sent by kill), pid=7840, tid=7840"},
		// With -XX:+CrashOnOutOfMemoryError.
		"heap-jdk17": {At: 1795814352, Reason: "Internal Error (debug.cpp:362), pid=8248, tid=8249: fatal error: OutOfMemory encountered: Java heap space"},
		"heap-jdk25": {At: 1795814355, Reason: "Internal Error (debug.cpp:289), pid=8339, tid=8340: fatal error: OutOfMemory encountered: Java heap space"},
	} {
		t.Run(jdk, func(t *testing.T) {
			dest := t.TempDir()
			log := young(0, 1, 2) + young(1, 9, 2)
			persist(t, dest, "gc.log", log)
			before := reportOn(t, Config{}, dest)
			persist(t, dest, "hs_err_pid7116.log", crashOf(t, jdk))
			persist(t, dest, "replay_pid7116.log", "version 2\nJvmtiExport can_access_local_variables 0\n")
			persist(t, dest, "hotspot_pid7116.log", "<?xml version='1.0' encoding='UTF-8'?>\n<hotspot_log version='160 1'>\n")
			r := reportOn(t, Config{}, dest)
			want.File, want.Command = "hs_err_pid7116.log", "ullage logs --stream 'hs_err*'"
			if len(r.Crashes) != 1 || r.Crashes[0] != want || r.Totals.Crashes != 1 {
				t.Errorf("crashes %+v, want %+v", r.Crashes, want)
			}
			if !r.Complete || len(r.Runs) != 1 || r.HeapAfter() != before.HeapAfter() || r.HeapAfter() == "–" {
				t.Errorf("complete %t, runs %+v, heap after GC %s, problems %+v; want true, 1 run and the same heap as before the crash, %s",
					r.Complete, r.Runs, r.HeapAfter(), r.Problems, before.HeapAfter())
			}
			if len(r.Volume.Tags) != len(before.Volume.Tags) || len(r.Inputs) != 4 {
				t.Errorf("tags %+v, inputs %+v; want %d tags and 4 inputs", r.Volume.Tags, r.Inputs, len(before.Volume.Tags))
			}
			for form, out := range forms(t, r) {
				for _, part := range []string{want.Reason, "hs_err_pid7116.log", "ullage logs --stream "} {
					at, first := strings.Index(out, part), strings.Index(strings.ToLower(out), "complete")
					if form == "page" {
						first = strings.Index(out, "Complete: the log shows no loss")
					}
					if at < 0 || at > first {
						t.Errorf("%s: %q is missing or after the first word about completeness, want it before", form, part)
					}
				}
			}
			if text := forms(t, r)["text"]; !strings.Contains(text, "A JVM crashed.\n  "+time.Unix(int64(want.At), 0).UTC().Format("2006-01-02 15:04:05Z: ")) {
				t.Errorf("the time of the crash is missing from\n%s", text)
			}
		})
	}
}

// The command that a report shows next to a crash may be pasted into a shell. A tenant can put any text into a report
// that comes from a container.
func TestTheCommandBesideACrashIsNeverThatOfADecodedReport(t *testing.T) {
	dest := t.TempDir()
	persist(t, dest, "gc.log", young(0, 1, 2))
	persist(t, dest, "hs_err_pid1.log", crashOf(t, "jdk17"))
	r := reportOn(t, Config{}, dest)
	r.Crashes[0].Command = "rm -rf /"
	for form, out := range forms(t, r) {
		if form != "JSON" && (strings.Contains(out, "rm -rf") || !strings.Contains(out, "ullage logs --stream ")) {
			t.Errorf("the %s is\n%s\nwant \"ullage logs --stream \" in it, and not the command of the report", form, out)
		}
	}
}

// After a restart of its container, a JVM has the same pid as its predecessor and overwrites that JVM's crash report.
func TestTheLatestCrashesAreListedAndAllAreCounted(t *testing.T) {
	dest := t.TempDir()
	persist(t, dest, "gc.log", young(0, 1, 2)+young(1, 9, 2))
	var reports strings.Builder
	const listed = 20
	for i := range listed + 5 {
		reports.WriteString(strings.ReplaceAll(crashOf(t, "jdk17"), "22:55:00", fmt.Sprintf("22:55:%02d", i)))
	}
	persist(t, dest, "hs_err_pid1.log", reports.String())
	r := reportOn(t, Config{}, dest)
	if len(r.Crashes) != listed || r.Totals.Crashes != listed+5 || r.Crashes[0].At != 1795560924 || r.Crashes[listed-1].At != 1795560905 {
		t.Errorf("%d crashes are counted; the list is %+v; want %d, and the latest %d listed, from 1795560924 down to 1795560905",
			r.Totals.Crashes, r.Crashes, listed+5, listed)
	}
	if text := forms(t, r)["text"]; !strings.Contains(text, "JVMs crashed 25 times.\n") || !strings.Contains(text, "and 5 earlier ones\n") {
		t.Errorf("the text does not say that JVMs crashed 25 times and that 5 crashes are not listed:\n%s", text)
	}
	since := Config{Since: time.Unix(1795560920, 0)}
	if _, err := Read(t.Context(), []string{dest}, since); !errors.Is(err, ErrNoLog) {
		t.Errorf("the error for a window without a line of the log is %v, want %v", err, ErrNoLog)
	}
	persist(t, dest, "later.log", strings.ReplaceAll(young(0, 1, 2), "2026-11-20T10", "2026-11-24T23"))
	if r := reportOn(t, since, dest); r.Totals.Crashes != 5 || len(r.Crashes) != 5 {
		t.Errorf("%d crashes in the window, want 5, all of them listed: %+v", r.Totals.Crashes, r.Crashes)
	}
}

func TestReportsOfCrashesThatLackSomething(t *testing.T) {
	real := crashOf(t, "jdk17")
	_, headless, _ := strings.Cut(real, "Problematic frame:\n")
	dir, when := t.TempDir(), time.Date(2026, 11, 20, 10, 0, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		text, reason string
		at           time.Time
	}{
		"cut before the reason":  {real[:70], "", when},
		"another zone":           {strings.Replace(real, " UTC elapsed", " CET elapsed", 1), "SIGSEGV (0xb) at pc=0x00007fb4c4398f14 (sent by kill), pid=7389, tid=7389", when},
		"without its beginning":  {headless, "", time.Unix(1795560900, 0)},
		"cut within the reason":  {"# A fatal error has been detected by the Java Runtime Environment:\n#\n#  Internal Error (debug.cpp:289), pid=7, tid=8\n", "Internal Error (debug.cpp:289), pid=7, tid=8", when},
		"a reason of many lines": {"# A fatal error has been detected by the Java Runtime Environment:\n#\n#  Internal Error (a.cpp:1), pid=7, tid=8\n#  assert(x) failed: y\n#  z\n#\n#  w\n", "Internal Error (a.cpp:1), pid=7, tid=8: assert(x) failed: y", when},
		"no memory":              {"#\n# There is insufficient memory for the Java Runtime Environment to continue.\n# Native memory allocation (mmap) failed to map 16384 bytes.\n", "Native memory allocation (mmap) failed to map 16384 bytes.", when},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "hs_err_pid7.log")
			if err := errors.Join(os.WriteFile(path, []byte(c.text), 0o600), os.Chtimes(path, when, when)); err != nil {
				t.Fatal(err)
			}
			want := view.Crash{At: axis(c.at.UnixNano()), Reason: c.reason, File: path}
			if r := reportOn(t, Config{}, write(t, "gc.log", young(0, 1, 2)), path); !r.Complete || len(r.Runs) != 1 || len(r.Crashes) != 1 || r.Crashes[0] != want {
				t.Errorf("complete %t, %d runs, crashes %+v, want %+v", r.Complete, len(r.Runs), r.Crashes, want)
			}
			if _, err := Read(t.Context(), []string{path}, Config{}); !errors.Is(err, ErrNoLog) || !strings.Contains(err.Error(), "only a crash report") {
				t.Errorf(`the error for a crash report alone is %v, want ErrNoLog and "only a crash report" in it`, err)
			}
		})
	}
}
