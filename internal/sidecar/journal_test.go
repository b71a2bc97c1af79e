package sidecar

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/test/lab"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 5e6, time.UTC)

// testJournal returns a journal in a directory, its clock, which the test can set, and its log.
func testJournal(t *testing.T, source string) (j *journal, clock *time.Time, log *bytes.Buffer) {
	t.Helper()
	log, clock = &bytes.Buffer{}, new(noon)
	j = newJournal(source, slog.New(slog.NewTextHandler(log, nil)))
	j.now = func() time.Time { return *clock }
	return j, clock, log
}

// lines returns the lines of the journal's file.
func lines(t *testing.T, source string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(source, mark.Stream))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestMarksAreAppended(t *testing.T) {
	dir := t.TempDir()
	j, _, log := testJournal(t, dir)
	first := "[0.1s][info][gc] of somebody else"
	if err := os.WriteFile(filepath.Join(dir, mark.Stream), []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		j.Add(mark.New(mark.JVMStarted, "pid", fmt.Sprint(i)))
	}
	j.Close()
	got := lines(t, dir)
	if len(got) != 4 || got[0] != first || !strings.HasSuffix(got[3], "12:00:00.005+0000][info][ullage] mark: jvm-started pid=2") {
		t.Errorf("the journal has the lines %q; want 4, the first of them %q and the last the mark pid=2 at 12:00:00.005", got, first)
	}
	if log.Len() > 0 {
		t.Errorf("the log has %q, want nothing", log)
	}
	(*journal)(nil).Add(mark.New(mark.JVMStarted))
	(*journal)(nil).Close()
}

func TestTooManyMarksAreCounted(t *testing.T) {
	dir := t.TempDir()
	j, clock, _ := testJournal(t, dir)
	for range maxMarks + 7 {
		j.Add(mark.New(mark.Truncated))
	}
	if n := len(lines(t, dir)); n != maxMarks {
		t.Fatalf("the journal has %d marks, want maxMarks", n)
	}
	*clock = clock.Add(period)
	j.Add(mark.New(mark.SidecarStopped))
	got := lines(t, dir)[maxMarks:]
	if len(got) != 2 || !strings.HasSuffix(got[0], "marks-suppressed count=7") || !strings.HasSuffix(got[1], "sidecar-stopped") {
		t.Errorf(`the last lines are %q, want 2 that end with "marks-suppressed count=7" and "sidecar-stopped"`, got)
	}
	for range maxMarks {
		j.Add(mark.New(mark.Truncated))
	}
	*clock = clock.Add(-time.Hour) // a clock that is set back begins another minute
	j.Add(mark.New(mark.Truncated))
	if got := lines(t, dir); !strings.HasSuffix(got[len(got)-2], "marks-suppressed count=1") {
		t.Errorf(`the last lines are %q, want the first of them to end with "marks-suppressed count=1"`, got[len(got)-2:])
	}
	for range maxMarks {
		j.Add(mark.New(mark.Truncated))
	}
	j.Close(mark.New(mark.SidecarStopped))
	if got := lines(t, dir); !strings.HasSuffix(got[len(got)-2], "marks-suppressed count=1") || !strings.HasSuffix(got[len(got)-1], "mark: sidecar-stopped") {
		t.Errorf(`the last lines are %q, want them to end with "marks-suppressed count=1" and "mark: sidecar-stopped"`, got[len(got)-2:])
	}
}

// Figures never suppress marks of events, and marks of events never suppress figures.
func TestFiguresHaveTheirOwnBound(t *testing.T) {
	dir := t.TempDir()
	j, clock, _ := testJournal(t, dir)
	for range maxFigures + 5 {
		j.Add(mark.New(mark.JVMFigures))
	}
	for range maxMarks {
		j.Add(mark.New(mark.Truncated))
	}
	if n := len(lines(t, dir)); n != maxFigures+maxMarks {
		t.Errorf("the journal has %d marks, want %d figures and %d others", n, maxFigures, maxMarks)
	}
	*clock = clock.Add(period)
	j.Add(mark.New(mark.JVMFigures))
	if got := lines(t, dir); len(got) != maxFigures+maxMarks+1 || !strings.HasSuffix(got[len(got)-1], "mark: jvm-figures") {
		t.Errorf("after a minute, the last of %d lines is %q, want one more mark of figures and no mark of suppressed ones", len(got), got[len(got)-1])
	}
}

// The application can put anything in the place of the journal's file. The sidecar never waits
// for it and never writes outside the source.
func TestWhatHasTheNameOfTheFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"a link":                func(path string) error { return os.Symlink(outside, path) },
		"a link to nowhere":     func(path string) error { return os.Symlink(outside+"2", path) },
		"a FIFO":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a file with two names": func(path string) error { return os.Link(outside, path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, mark.Stream)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			j, _, log := testJournal(t, dir)
			j.Add(mark.New(mark.JVMStarted))
			j.Add(mark.New(mark.JVMStarted))
			if n := strings.Count(log.String(), "writing a mark failed"); n != 1 {
				t.Errorf("the failure is in the log %d times, want 1: %s", n, log)
			}
			if info, err := os.Stat(outside); err != nil || info.Size() > 0 {
				t.Errorf("the file outside is %v, error %v; want 0 bytes and no error", info, err)
			}
			if _, err := os.Lstat(outside + "2"); err == nil {
				t.Error("a file was created outside the source, want none")
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			j.Add(mark.New(mark.JVMStarted))
			if got := lines(t, dir); len(got) != 1 {
				t.Errorf("the journal has the lines %q, want 1", got)
			}
		})
	}
}

func TestASourceThatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "source")
	j, _, log := testJournal(t, dir)
	for range 3 {
		j.Add(mark.New(mark.JVMStarted))
	}
	if n := strings.Count(log.String(), "writing a mark failed"); n != 1 {
		t.Errorf("the failure is in the log %d times, want 1: %s", n, log)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the missing directory was created, want it to stay missing")
	}
}

// A full tmpfs takes whole marks or none.
func TestAFullTmpfsTakesNoPartOfAMark(t *testing.T) {
	dir := t.TempDir()
	lab.MountTmpfs(t, dir, "64k")
	j, clock, log := testJournal(t, dir)
	var text string
	for n := 0; n < 1000; n++ {
		*clock = clock.Add(time.Second)
		j.Add(mark.New(mark.JVMStarted, "flags", strings.Repeat("x", 200)))
		if n == 10 { // this fills the tmpfs, so a later write could end in the middle of a line
			_ = os.WriteFile(filepath.Join(dir, "gc.log"), make([]byte, 1<<20), 0o600)
		}
	}
	text = strings.Join(lines(t, dir), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		if _, ok := mark.Parse([]byte(line)); !ok {
			t.Fatalf("the line is not a mark: %q", line)
		}
	}
	if n := strings.Count(log.String(), "writing a mark failed"); n != 1 {
		t.Errorf("the failure is in the log %d times, want 1", n)
	}
	if err := os.Remove(filepath.Join(dir, "gc.log")); err != nil {
		t.Fatal(err)
	}
	before := len(lines(t, dir))
	*clock = clock.Add(time.Second)
	j.Add(mark.New(mark.JVMStarted))
	if after := len(lines(t, dir)); after != before+1 {
		t.Errorf("the journal has %d marks, want %d", after, before+1)
	}
}
