package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment/store"
)

// persist writes lines as segments of a stream.
func persist(t *testing.T, dest, stream, text string) {
	t.Helper()
	durable, err := store.Open(dest, store.DefaultConfig(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer durable.Close()
	st := durable.Stream(stream)
	if _, _, err := st.Recover(); err != nil {
		t.Fatal(err)
	}
	if err := st.Append([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Sync(); err != nil {
		t.Fatal(err)
	}
}

func TestMarksOfTheSidecarAreBandsAndNoLog(t *testing.T) {
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	after := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	var log, noted strings.Builder
	for i := range 60 {
		log.WriteString("[" + after(i).Format("2006-01-02T15:04:05.000-0700") + "][info][gc] GC(" + string(rune('0'+i%10)) + ") Pause Young (Normal) (G1 Evacuation Pause) 20M->10M(64M) 1.000ms\n")
	}
	note := func(s int, m mark.Mark) {
		m.Time = after(s)
		noted.Write(m.Append(nil))
	}
	note(-3600, mark.New(mark.SidecarStarted, "version", "v1", "after", "first-start"))
	note(10, mark.New(mark.LevelRaised, "stream", "gc.log", "pid", "1", "selection", "gc*=debug", "why", "annotation ullage.dev/log"))
	note(15, mark.New(mark.SidecarStarted, "version", "v1", "after", "kill"))
	note(20, mark.New(mark.LevelRestored, "stream", "gc.log", "pid", "1", "selection", "gc*=debug"))
	note(30, mark.New(mark.ArchivesMissed, "stream", "gc.log", "count", "3"))
	note(40, mark.New(mark.Truncated, "stream", "gc.log"))
	note(45, mark.New(mark.JVMStalled, "stream", "gc.log", "ended", after(44).Format(ul.TimeLayout), "seconds", "1.500", "verdict", "disk", "why", "sdb was busy for 1.4 s of 2.0 s"))
	note(46, mark.New(mark.JVMStalled, "stream", "gc.log", "ended", "never", "seconds", "-3"))
	note(50, mark.New(mark.LevelRaised, "stream", "gc.log", "pid", "1", "selection", "gc*=trace", "why", "ullage levels set"))
	note(55, mark.New(mark.JVMEnded, "stream", "gc.log", "pid", "1", "how", mark.Crashed))
	note(56, mark.New(mark.JVMEnded, "stream", "gc.log", "pid", "7", "how", mark.Exited))
	note(57, mark.New(mark.JVMEnded, "stream", "gc.log", "pid", "8", "how", mark.Killed, "cause", mark.MemoryLimit, "why", "the kernel killed it"))
	note(58, mark.New(mark.JVMEnded, "stream", "gc.log", "pid", "9", "how", mark.Killed))
	note(3600, mark.New(mark.Truncated, "stream", "other.log"))
	dest := t.TempDir()
	persist(t, dest, "gc.log", log.String())
	persist(t, dest, mark.Stream, noted.String())

	r := reportOn(t, Config{}, dest)
	bands := map[string][2]float64{}
	for _, b := range r.Bands {
		k := b.Kind
		if strings.Contains(b.Text, "trace") {
			k += " to the end"
		}
		if strings.Contains(b.Text, "verdict: unknown") {
			k += " without details"
		}
		bands[k] = [2]float64{b.Begin - axis(begin.UnixNano()), b.End - axis(begin.UnixNano())}
	}
	want := map[string][2]float64{"raised": {10, 20}, "sidecar": {15, 15}, "missed": {30, 30}, "truncated": {40, 40}, "raised to the end": {50, 59}, "crash": {55, 55}, "stalled": {42.5, 44}, "stalled without details": {46, 46}}
	for kind, span := range want {
		if bands[kind] != span {
			t.Errorf("band %q is %v, want %v", kind, bands[kind], span)
		}
	}
	if len(bands) != len(want) {
		t.Errorf("bands %v, want %v", bands, want)
	}
	if r.Complete || r.Begin != axis(begin.UnixNano()) || len(r.Runs) != 1 {
		t.Errorf("complete: %t, begins at %v, %d runs: want an incomplete report of one run that begins with the log", r.Complete, r.Begin, len(r.Runs))
	}
	if len(r.Inputs) != 2 || r.Inputs[1].Name != mark.Stream || r.Inputs[1].Lines != 14 {
		t.Errorf("the inputs are %+v, want 2, the second of them %s with 14 lines", r.Inputs, mark.Stream)
	}
	// The JVMs that were killed come first. A JVM that exited normally is not listed.
	const news = "\n2 JVMs were killed or ended with a full heap.\n  2026-11-20 10:00:58Z: pid 9, gc.log: killed, in ullage.log\n" +
		"  2026-11-20 10:00:57Z: pid 8, gc.log: the kernel killed it, in ullage.log\n  ullage logs --marks  prints the reports\nNOT COMPLETE"
	var text bytes.Buffer
	if err := view.Text(&text, view.Style{}, r); err != nil || !strings.Contains(text.String(), news) {
		t.Errorf("error %v; the text begins\n%.400s\nwant no error, and in the text\n%s", err, text.String(), news)
	}
}

func TestWithheldLinesThatWereSavedAreABandWithTheirCause(t *testing.T) {
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	after := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	text := func(s int) string { return after(s).Format(ul.TimeLayout) }
	var noted strings.Builder
	note := func(s int, fields ...string) {
		m := mark.New(mark.DetailSaved, fields...)
		m.Time = after(s)
		noted.Write(m.Append(nil))
	}
	note(20, "cause", "pause>500ms", "why", "gc.log: <b>GC(7)", "from", text(10), "until", text(30))
	note(35, "cause", "command", "from", text(25), "until", text(45)) // begins before the previous one ends
	note(50, "from", "yesterday", "until", text(40))                  // without a valid span: the band is at the time of the mark
	note(55, "cause", "annotation", "from", text(52), "until", text(5000))
	note(500, "cause", "command", "from", text(490), "until", text(510)) // after the end of the log
	dest := t.TempDir()
	persist(t, dest, "gc.log", young(0, 1, 1)+young(1, 60, 1))
	persist(t, dest, mark.Stream, noted.String())
	want := []view.Band{{Text: "withheld lines saved, cause: pause>500ms (gc.log: <b>GC(7))", Begin: 10, End: 30},
		{Text: "withheld lines saved, cause: command", Begin: 25, End: 45},
		{Text: "withheld lines saved", Begin: 50, End: 50},
		{Text: "withheld lines saved, cause: annotation", Begin: 52, End: 60}}
	r := reportOn(t, Config{}, dest)
	for i := range r.Bands {
		r.Bands[i].Begin, r.Bands[i].End = r.Bands[i].Begin-axis(begin.UnixNano()), r.Bands[i].End-axis(begin.UnixNano())
		want[min(i, len(want)-1)].Kind = "saved"
	}
	if diff := cmp.Diff(want, r.Bands); diff != "" || !r.Complete {
		t.Errorf("complete: %t, want true; bands (-want +got):\n%s", r.Complete, diff)
	}
	var page bytes.Buffer
	if err := view.HTML(&page, r); err != nil || !strings.Contains(page.String(), "cause: pause&gt;500ms (gc.log: &lt;b&gt;GC(7))") {
		t.Errorf("error %v, or the page lacks the escaped cause; want no error and the cause", err)
	}
	r = reportOn(t, Config{Since: after(40), Until: after(120)}, dest)
	if len(r.Bands) != 1 || r.Bands[0].Begin != axis(after(60).UnixNano()) {
		t.Errorf("in a window that begins after the first two: %+v, want one band that begins at %v", r.Bands, axis(after(60).UnixNano()))
	}
}

// The directory of a single stream has no marks. A report on it reads those of its destination that concern the stream.
func TestADirectoryOfAStreamHasTheMarksOfItsDestination(t *testing.T) {
	dest := t.TempDir()
	persist(t, dest, "gc.log", young(1, 2, 1)+young(2, 9, 1))
	persist(t, dest, "own.log", young(1, 2, 1)+young(2, 9, 1))
	persist(t, dest, "app.log", "[1.0s][info][app] line\n")
	var text []byte
	for _, stream := range []string{"gc.log", "own.log"} {
		m := mark.New(mark.ArchivesMissed, "stream", stream, "count", "3")
		m.Time = time.Date(2026, 11, 20, 10, 0, 5, 0, time.UTC)
		text = m.Append(text)
	}
	persist(t, dest, mark.Stream, string(text))
	at := func(stream string) string { return filepath.Join(dest, stream) }
	for _, c := range []struct {
		args   []string
		missed uint64
	}{
		{[]string{dest}, 6}, {[]string{at("gc.log")}, 3}, {[]string{at("app.log")}, 0},
		{[]string{at("gc.log"), at("own.log")}, 6}, {[]string{at("gc.log"), dest}, 6},
	} {
		r, missed := reportOn(t, Config{}, c.args...), uint64(0)
		for _, p := range r.Problems {
			if p.Kind == view.ProblemMissed {
				missed = p.Count
			}
		}
		if missed != c.missed || r.Complete != (c.missed == 0) {
			t.Errorf("%q: %d missed archives, complete: %t; want %d and %t", c.args, missed, r.Complete, c.missed, c.missed == 0)
		}
	}
}

// One stream may belong to another user. The report has the others, and says so.
func TestAStreamThatCannotBeListedIsALoss(t *testing.T) {
	dest := t.TempDir()
	persist(t, dest, "gc.log", young(1, 2, 1)+young(2, 9, 1))
	private := filepath.Join(dest, "private.log")
	if err := errors.Join(os.Chmod(filepath.Dir(dest), 0o755), os.Mkdir(private, 0), os.Chmod(filepath.Join(dest, "gc.log"), 0o755)); err != nil {
		t.Fatal(err)
	}
	unlisted := asNobody(t, func() ([]*input, error) { return find([]string{dest}) })
	if len(unlisted) != 2 || unlisted[0].err != nil || unlisted[1].dir != private || unlisted[1].err == nil {
		t.Errorf("found %+v, want gc.log, and %s with an error", unlisted, private)
	}
	none := t.TempDir()
	if err := os.Mkdir(filepath.Join(none, "private.log"), 0); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() ([]*input, error) {
		found, err := find([]string{none})
		if err == nil {
			t.Errorf("found %+v in a directory whose only stream cannot be listed, want an error", found)
		}
		return found, nil
	})
}

// asNobody calls do with the rights of a user that owns nothing.
func asNobody[T any](t *testing.T, do func() (T, error)) T {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setfsuid(os.Getuid()) }()
	got, err := do()
	if err != nil {
		t.Error(err)
	}
	return got
}

// A user's own log may have the name of the stream of marks.
func TestAFileWithTheNameOfTheMarksIsALog(t *testing.T) {
	path := write(t, mark.Stream, "[0.100s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 20M->10M(64M) 1.000ms\n")
	if r := reportOn(t, Config{}, path); r.Totals.Stops != 1 {
		t.Errorf("%d stops, want one", r.Totals.Stops)
	}
}

// The lines that hindsight saved are from some minutes of a stream that is read as well.
func TestSavedLinesAreNoJVMOfTheirOwn(t *testing.T) {
	dest := t.TempDir()
	persist(t, dest, "gc.log", young(1, 2, 1)+young(2, 9, 1))
	persist(t, dest, "gc.log"+naming.DetailSuffix, "[5.0s][debug][gc] detail\n")
	if r := reportOn(t, Config{}, dest); len(r.Inputs) != 1 || r.Inputs[0].Name != "gc.log" || len(r.Runs) != 1 {
		t.Errorf(`inputs %+v, %d runs, want 1 in Inputs, Name "gc.log" and 1 in Runs`, r.Inputs, len(r.Runs))
	}
	if r := reportOn(t, Config{}, filepath.Join(dest, "gc.log"+naming.DetailSuffix)); r.Inputs[0].Lines != 1 {
		t.Errorf("if the saved lines are named: %+v, want Lines 1", r.Inputs)
	}
}
