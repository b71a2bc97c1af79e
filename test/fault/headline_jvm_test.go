package fault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// figures are the measurements of one JVM and of the writer that ran with it. Lost lines are -1 if they were not
// counted.
type figures struct {
	write, safepoint                      time.Duration // the longest during the freeze
	away                                  time.Duration // the longest stop of a Java thread: a log can stop it outside a safepoint too
	quietWrite, quietSafepoint, quietAway time.Duration // before the freeze
	lost, severe                          int
	written                               int       // lines of the JVM in the freeze, persisted or lost
	quiet, frozen, over                   time.Time // the times at which the quiet phase, the freeze, and the phase after it began
}

// javaRun is a JVM that logs about 2 MB/s to a file or a pipe, with the flags of a contender.
type javaRun struct {
	*testing.T
	jdk   lab.JDK
	dir   string // on tmpfs, for files that ullage never sees
	truth string // the second output
	watch string // the program's figures about safepoints
	p     *jvm.Process
}

// stamp is the form of the times in the log.
const stamp = "2006-01-02T15:04:05.000-0700"

const (
	selection = "gc*=debug,safepoint*=debug"
	coolDown  = 2 * time.Second // how long the JVM runs after the thaw
)

// warmUp is how long a JVM runs before it is measured.
var warmUp = long(3*time.Second, time.Second)

// startJava starts the JVM, which ends by itself after d.
func startJava(t *testing.T, jdk lab.JDK, classes, log string, d time.Duration, flags ...string) *javaRun {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ullage-headline-")
	if err != nil {
		lab.Needs(t, "/dev/shm: "+err.Error())
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &javaRun{T: t, jdk: jdk, dir: dir, truth: filepath.Join(dir, "truth.log"), watch: filepath.Join(dir, "safepoints")}
	options := "filecount=1,filesize=0"
	if info, err := os.Stat(log); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		options = "filecount=0" // HotSpot refuses to rotate a pipe
	}
	args := append([]string{
		// The counters of safepoints need performance data, but not in a file, which might stall.
		"-XX:+UsePerfData", "-XX:+PerfDisableSharedMem", "--add-exports=java.management/sun.management=ALL-UNNAMED",
		"-Xmx64m", "-Xmn4m", "-XX:+UseG1GC",
		jvm.Output{Selection: selection, File: log, Options: options}.Flag(),
		jvm.Output{Selection: selection, File: r.truth}.Flag(),
	}, flags...)
	args = append(args, "-cp", classes, "Headline", strconv.FormatInt(d.Milliseconds(), 10), "250", r.watch)
	if r.p, err = jvm.Start(jdk, args...); err != nil {
		t.Fatal(err)
	}
	// The test does not wait: a process that is held in a frozen file system ends at the thaw.
	t.Cleanup(func() {
		select {
		case <-r.p.Done():
		default:
			must(t, "kill", "-9", strconv.Itoa(r.p.PID()))
		}
	})
	return r
}

var safepointTotal = regexp.MustCompile(`^\[([^]]+)\].* Total: +(\d+) ns`)

// longest returns the longest safepoint between two moments, and how long a Java thread that sleeps for 1 ms at a
// time was stopped. Two sources give the length of a safepoint: the total in the log, from which lines may be
// missing, and the counters, which omit the time until the collector's own threads stopped, for instance in a write
// to their log. The longer of the two is used. If the thread saw more than one safepoint at once, the counters give
// their sum.
func (r *javaRun) longest(from, to time.Time) (safepoint, away time.Duration) {
	r.Helper()
	safepoint, away = r.watched(from, to)
	logged := time.Duration(0)
	for line := range bytes.Lines(r.read(r.truth)) {
		found := safepointTotal.FindSubmatch(line)
		if found == nil {
			continue
		}
		ns, _ := strconv.ParseInt(string(found[2]), 10, 64)
		// The line is stamped at the end of the safepoint, at the thaw or later.
		if when, err := time.Parse(stamp, string(found[1])); err == nil && when.After(from) && when.Before(to) {
			logged = max(logged, time.Duration(ns))
		}
	}
	r.Logf("longest safepoint according to the log %s, according to the counters %s", logged, safepoint)
	return max(safepoint, logged), away
}

// watched reads the figures that the program has written.
func (r *javaRun) watched(from, to time.Time) (safepoint, away time.Duration) {
	r.Helper()
	text, err := os.ReadFile(r.watch)
	if err != nil {
		r.Fatal(err)
	}
	seen := 0
	for line := range bytes.Lines(text) {
		var at, count, took, gone int64
		if n, _ := fmt.Sscan(string(line), &at, &count, &took, &gone); n != 4 {
			continue // the last line, cut when the JVM ended
		}
		if when := time.UnixMilli(at); when.Before(from) || when.After(to) {
			continue
		}
		seen++
		safepoint = max(safepoint, time.Duration(took)*time.Millisecond)
		away = max(away, time.Duration(gone)*time.Millisecond)
	}
	if seen < 5 {
		r.Errorf("the JVM had only %d safepoints between %s and %s, want at least 5", seen, from, to)
	}
	return safepoint, away
}

var asyncDrop = regexp.MustCompile(`(?m)\] +(\d+) messages dropped due to async logging$`)

// lostAsync sums up the dropped lines that the JVM reports in an output.
func lostAsync(text []byte) (lost int) {
	for _, found := range asyncDrop.FindAllSubmatch(text, -1) {
		n, _ := strconv.Atoi(string(found[1]))
		lost += n
	}
	return lost
}

func (r *javaRun) read(path string) []byte {
	r.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		r.Fatal(err)
	}
	return text
}

// linesBetween counts the lines that the JVM stamped between two moments. A line
// without a stamp belongs to the record before it.
func linesBetween(text []byte, from, to time.Time) (n int) {
	inside := false
	for line := range bytes.Lines(text) {
		if head, _, ok := bytes.Cut(line, []byte("]")); ok && len(head) > 1 {
			if when, err := time.Parse(stamp, string(head[1:])); err == nil {
				inside = !when.Before(from) && when.Before(to)
			}
		}
		if inside {
			n++
		}
	}
	return n
}

// compare returns how many lines of the second output are not among the persisted ones.
func (r *javaRun) compare(persisted []byte) (lost int) {
	r.Helper()
	c := jvm.Compare(r.read(r.truth), persisted)
	if c.Twice > 0 || c.Foreign > 0 {
		r.Errorf("the log has lines twice, or lines that the JVM never wrote, want neither: %s", c)
	}
	return c.Missing
}

// account compares, by level, the lines of the second output that were not persisted with the counts in the
// markers.
func (r *javaRun) account(dest string) (lost, severe int) {
	r.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, stream); err != nil {
		r.Fatal(err)
	}
	var persisted bytes.Buffer
	dropped := lab.Counts{}
	for line := range bytes.Lines(text.Bytes()) {
		m, ok := lab.ParseMarker(line)
		if !ok {
			persisted.Write(line)
			continue
		}
		for level, n := range m.Dropped.Total() {
			dropped[level] += n
		}
	}
	lost = r.compare(persisted.Bytes())
	missing := levelsOf(r.read(r.truth))
	for level, n := range levelsOf(persisted.Bytes()) {
		missing[level] -= n
	}
	if missing != dropped || lost != dropped.Total() {
		r.Errorf("%d lines are missing (%s), want %d (%s) as in the markers", lost, missing, dropped.Total(), dropped)
	}
	r.Logf("%s: %d lines persisted, dropped: %s", r.jdk, bytes.Count(persisted.Bytes(), []byte("\n")), dropped)
	return lost, dropped.From(lab.Warning)
}

// levelsOf counts the lines of a JVM's log by level. Continuation lines of a record have the level of its
// first line.
func levelsOf(text []byte) (counts lab.Counts) {
	level := lab.Unknown
	for line := range bytes.Lines(text) {
		if fields := bytes.SplitN(line, []byte("]"), 5); len(fields) == 5 && bytes.HasPrefix(line, []byte("[2")) {
			name := bytes.TrimSpace(bytes.TrimPrefix(fields[3], []byte("[")))
			for l := lab.Trace; l <= lab.Error; l++ {
				if l.String() == string(name) {
					level = l
				}
			}
		}
		counts[level]++
	}
	return counts
}
