package fault

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// contender is a way to keep a log.
type contender struct {
	name  string
	flags []string // of the JVM
	from  int      // the first JDK that supports the flags
	piped bool     // the JVM writes to a pipe, and another process copies the pipe to the disk
}

var direct = []contender{
	{name: "frozen disk", from: 17},
	{name: "a pipe to the frozen disk, like stdout", from: 17, piped: true},
	{name: "frozen disk, -Xlog:async", flags: []string{"-Xlog:async"}, from: 17},
	{name: "frozen disk, -Xlog:async, the largest buffer", flags: []string{"-Xlog:async", "-XX:AsyncLogBufferSize=50m"}, from: 17},
	{name: "frozen disk, -Xlog:async:stall", flags: []string{"-Xlog:async:stall"}, from: 24},
}

// mostRatio is the limit for the ratio of the longest pause during a freeze to the longest pause before it. On a busy
// machine the longest pauses vary widely, so the test only prints whether the limit was kept. The test
// fails if a pause or a write took longer than waited: then it must have waited for the disk.
const (
	mostRatio = 1.5
	waited    = time.Second
)

// budget is the size of the tmpfs.
const budget = "64m"

// besides is the rate, in bytes a second, of a writer that runs alongside each JVM.
const besides = 2e6

// TestHeadline prints a table of the effect of a frozen disk on JVMs that log to it, and on JVMs that log through
// ullage.
func TestHeadline(t *testing.T) {
	needRoot(t)
	freeze := long(60*time.Second, 1500*time.Millisecond)
	jdks := lab.NeedsJDKs(t)
	classes := jdks[0].Classes(t, filepath.Join("testdata", "Headline.java"))
	columns := []string{"log goes to", "longest write"}
	for _, jdk := range jdks {
		columns = append(columns, fmt.Sprintf("longest safepoint, %d", jdk.Version))
	}
	for _, jdk := range jdks {
		columns = append(columns, fmt.Sprintf("application stopped, %d", jdk.Version))
	}
	for _, jdk := range jdks {
		columns = append(columns, fmt.Sprintf("lines lost, %d", jdk.Version))
	}
	rows := lab.NewTable(fmt.Sprintf("The disk is frozen for %s under a JVM that logs %s, with a budget of %s", freeze, selection, budget), append(columns, "at warning or above")...)
	defer rows.Print(t)
	for _, c := range direct {
		if (c.flags != nil || c.piped) && long(false, true) {
			continue // a quick run has only the two extremes
		}
		runs := make(map[lab.JDK]figures)
		for _, jdk := range of(jdks, c) {
			t.Run(c.name+"/"+jdk.String(), func(t *testing.T) { runs[jdk] = onDisk(t, c, jdk, classes, freeze) })
		}
		rows.Add(rowOf(c.name, jdks, runs, false)...)
	}
	runs := make(map[lab.JDK]figures)
	for _, jdk := range of(jdks, contender{from: 17}) {
		t.Run("tmpfs and ullage/"+jdk.String(), func(t *testing.T) { runs[jdk] = throughUllage(t, jdk, classes, freeze) })
	}
	rows.Add(rowOf("tmpfs + ullage", jdks, runs, false)...)
	rows.Add(rowOf("tmpfs + ullage, without a freeze", jdks, runs, true)...)
	rows.Add(ratios(jdks, runs)...)
}

// of returns the JDKs on which a contender runs. In a quick run, it considers only the newest JDK.
func of(jdks []lab.JDK, c contender) (fit []lab.JDK) {
	for _, jdk := range long(jdks, jdks[len(jdks)-1:]) {
		if jdk.Version >= c.from {
			fit = append(fit, jdk)
		}
	}
	return fit
}

// onDisk lets a JVM and a writer log to a disk that is frozen.
func onDisk(t *testing.T, c contender, jdk lab.JDK, classes string, freeze time.Duration) (f figures) {
	v := newVolumeOf(t, "2G")
	log := filepath.Join(v.Dir, stream)
	to, drained := log, func() {}
	if c.piped {
		to, drained = pipeTo(t, log)
	}
	java := startJava(t, jdk, classes, to, warmUp+freeze+coolDown, c.flags...)
	flood := lab.RunFlood(t, lab.Flood{Path: filepath.Join(v.Dir, "writer.log"), Rate: besides})
	f.lasts(t, v, flood, warmUp, freeze)
	if err := java.p.Wait(patience); err != nil {
		t.Fatal(err)
	}
	drained()
	if _, err := flood.Stop(); err != nil {
		t.Error(err)
	}
	f.safepoint, f.away = java.longest(f.frozen, f.over)
	if len(c.flags) == 0 && !c.piped {
		f.write = flood.Latency(within).Slowest
	}
	text := java.read(log)
	f.written = linesBetween(text, f.frozen, f.over)
	if f.lost = lostAsync(text); f.lost == 0 {
		f.lost = java.compare(text)
	}
	f.written += f.lost
	// The JVM drops lines without regard to their level, so the levels are unknown.
	f.severe = -1
	if f.lost == 0 {
		f.severe = 0
	}
	t.Logf("longest safepoint %s, application stopped for %s; %d lines lost; the writer alongside it: %s", f.safepoint, f.away, f.lost, flood.Latency(within))
	return f
}

// pipeTo returns a named pipe, and a function that waits until a process has copied everything from the pipe to the
// file. A container runtime reads stdout in the same way.
func pipeTo(t *testing.T, file string) (pipe string, drained func()) {
	t.Helper()
	pipe = filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cat := exec.Command("sh", "-c", `exec cat <"$0" >"$1"`, pipe, file)
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	// Nothing waits for the killed process to exit: if it is blocked in a frozen file system, it exits after the thaw.
	t.Cleanup(func() { _ = cat.Process.Kill() })
	return pipe, func() {
		if err := cat.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// lasts waits for the quiet time, freezes, waits, and thaws.
func (f *figures) lasts(t *testing.T, v *volume, flood *lab.Flooding, quiet, freeze time.Duration) {
	t.Helper()
	time.Sleep(quiet)
	thaw := v.freeze()
	f.frozen = time.Now()
	flood.Phase(within)
	time.Sleep(freeze)
	thaw()
	// A call that waited for the thaw returns only after the thaw.
	f.over = time.Now().Add(coolDown / 2)
	time.Sleep(time.Until(f.over))
	flood.Phase(after)
}

// throughUllage lets a JVM and a writer log to a tmpfs of 64 MiB, first without a freeze and then with one. Both
// phases are equally long.
func throughUllage(t *testing.T, jdk lab.JDK, classes string, freeze time.Duration) (f figures) {
	const beside = "writer.log"
	v := newVolumeOf(t, "2G")
	source, dest := lab.Tmpfs(t, budget), filepath.Join(v.Dir, "dest")
	side := lab.Run(t, source, dest)
	if _, err := side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	java := startJava(t, jdk, classes, filepath.Join(source, stream), warmUp+freeze+freeze+coolDown)
	flood := lab.RunFlood(t, lab.Flood{Path: filepath.Join(source, beside), Rate: besides})
	time.Sleep(warmUp)
	f.quiet = time.Now()
	flood.Phase(quietPhase)
	f.lasts(t, v, flood, freeze, freeze)
	if err := java.p.Wait(patience); err != nil {
		t.Fatal(err)
	}
	report, err := flood.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if err := side.Stop(2 * patience); err != nil {
		t.Error(err)
	}
	f.quietSafepoint, f.quietAway = java.longest(f.quiet, f.frozen)
	f.safepoint, f.away = java.longest(f.frozen, f.over)
	f.quietWrite, f.write = flood.Latency(quietPhase).Slowest, flood.Latency(within).Slowest
	f.lost, f.severe = java.account(dest)
	f.written = linesBetween(java.read(java.truth), f.frozen, f.over)
	a, err := lab.Settle(dest, beside, report)
	if err != nil || !a.Exact() {
		t.Errorf("the writer's account is %s, error %v; want an exact account and no error", a, err)
	}
	severe := a.Dropped.Total().From(lab.Warning)
	t.Logf("longest safepoint %s, before the freeze %s, application stopped for %s; the writer: %s; before: %s; %s",
		f.safepoint, f.quietSafepoint, f.away, flood.Latency(within), flood.Latency(quietPhase), a)
	if f.severe += severe; f.severe > 0 {
		t.Errorf("%d lines at warning or above were dropped, want 0", f.severe)
	}
	if f.safepoint > waited || f.write > waited || f.away > waited {
		t.Errorf("a safepoint took %s, a write %s, and the application stopped for %s, as if they had waited for the disk; want at most %s", f.safepoint, f.write, f.away, waited)
	}
	if len(report.Losses) > 0 {
		t.Errorf("the tmpfs was full %d times, want none", len(report.Losses))
	}
	return f
}

// quietPhase is the phase of a writer before the freeze, when everything is warm.
const quietPhase = after + 1

// rowOf makes a row of the figures of each JDK. The writer's figures are the worst of all runs.
func rowOf(name string, jdks []lab.JDK, runs map[lab.JDK]figures, quiet bool) []any {
	var write time.Duration
	severe := 0
	var safepoints, stops, lost []any
	for _, jdk := range jdks {
		f, ok := runs[jdk]
		switch {
		case !ok:
			safepoints, stops, lost = append(safepoints, "-"), append(stops, "-"), append(lost, "-")
			continue
		case quiet:
			f.safepoint, f.away, f.write, f.lost, f.severe = f.quietSafepoint, f.quietAway, f.quietWrite, 0, 0
		}
		write = max(write, f.write)
		safepoints, stops, lost = append(safepoints, f.safepoint), append(stops, f.away), append(lost, f.share())
		if severe += f.severe; f.severe < 0 {
			severe = -1
		}
	}
	row := append([]any{name, orDash(write > 0, write)}, safepoints...)
	return append(append(append(row, stops...), lost...), orDash(severe >= 0, severe))
}

// share returns how many lines were lost, with their percentage of the lines that the JVM wrote during the freeze.
func (f figures) share() string {
	if f.lost == 0 || f.written == 0 {
		return strconv.Itoa(f.lost)
	}
	return fmt.Sprintf("%d (%.0f %%)", f.lost, 100*float64(f.lost)/float64(f.written))
}

func orDash(ok bool, v any) any {
	if ok {
		return v
	}
	return "-"
}

// ratios returns the row that compares a freeze with no freeze.
func ratios(jdks []lab.JDK, runs map[lab.JDK]figures) []any {
	var write, quiet time.Duration
	row := []any{fmt.Sprintf("ratio of the two (limit %.1f)", mostRatio), "-"}
	var stops []any
	for _, jdk := range jdks {
		f := runs[jdk]
		write, quiet = max(write, f.write), max(quiet, f.quietWrite)
		row, stops = append(row, ratio(f.safepoint, f.quietSafepoint)), append(stops, ratio(f.away, f.quietAway))
	}
	row[1] = ratio(write, quiet)
	row = append(row, stops...)
	for range jdks {
		row = append(row, "")
	}
	return append(row, "")
}

func ratio(a, b time.Duration) string {
	if b == 0 {
		return "-"
	}
	verdict := "reached"
	if r := float64(a) / float64(b); r > mostRatio {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%.2f %s", float64(a)/float64(b), verdict)
}
