package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/read/report/view"
)

// The lines are written by hand, in the forms of JDK 8: see package pause.
const jdk8Begin = `OpenJDK 64-Bit Server VM (25.342-b07) for linux-amd64 JRE (1.8.0_342-b07), built on Jul 16 2022 09:19:19 by "openjdk" with gcc 4.4.7
CommandLine flags: -XX:MaxHeapSize=33554432 -XX:+UseConcMarkSweepGC -XX:OnError=secret
`

const jdk8Log = `2026-03-01T10:00:01.000+0100: 1.000: [GC (Allocation Failure) 1.000: [ParNew
Desired survivor size 524288 bytes, new threshold 1 (max 6)
: 8000K->1000K(9000K), 0.0100000 secs] 18000K->12000K(31000K), 0.0110000 secs] [Times: user=0.02 sys=0.01, real=0.01 secs]
2026-03-01T10:00:01.012+0100: 1.012: Total time for which application threads were stopped: 0.0120000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:02.000+0100: 2.000: Total time for which application threads were stopped: 0.0010000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:03.000+0100: 3.000: [GC (Allocation Failure) 3.000: [ParNew: 9000K->1000K(9000K), 0.0100000 secs] 20000K->13000K(31000K), 4.0000000 secs] [Times: user=0.02 sys=0.01, real=4.00 secs]
2026-03-01T10:00:07.001+0100: 7.001: Total time for which application threads were stopped: 4.0010000 seconds, Stopping threads took: 0.0001000 seconds
2026-03-01T10:00:08.000+0100: 8.000: [Full GC (System.gc()) 8.000: [CMS: 12000K->9000K(22000K), 0.1000000 secs] 14000K->9000K(31000K), [Metaspace: 3000K->3000K(1056768K)], 0.1010000 secs] [Times: user=0.10 sys=0.00, real=0.10 secs]
`

func TestReportOnJDK8(t *testing.T) {
	for name, path := range map[string]string{
		"one file": write(t, "gc.log", jdk8Begin+jdk8Log),
		"rotated":  rotatedJDK8(t),
	} {
		r := reportOn(t, Config{}, path)
		if len(r.Runs) != 1 || r.Runs[0].Collector != "CMS" || r.Runs[0].Version != "1.8.0_342-b07" || r.Runs[0].Flags != "-XX:MaxHeapSize=33554432 -XX:+UseConcMarkSweepGC" {
			t.Fatalf(`%s: the runs are %+v, want 1 in Runs, Collector "CMS", Version "1.8.0_342-b07" and Flags "-XX:MaxHeapSize=33554432 -XX:+UseConcMarkSweepGC"`, name, r.Runs)
		}
		if n := &r.Totals; n.Stops != 4 || n.Collections != 3 || n.Full != 1 || n.Suspected != 1 || math.Abs(n.Paused-4.115) > 1e-6 || n.Throughput == nil {
			t.Errorf("%s: the totals are %+v, want 4 stops of 4.115 s, 3 collections, 1 of them full, 1 suspected stop and a throughput", name, n)
		}
		worst := &r.Longest[0]
		if worst.Cause != "young · Allocation Failure" || worst.Suspicion != "idle" || worst.At == nil || len(worst.Lines) != 2 || !strings.Contains(worst.Lines[0], "4.0000000 secs") {
			t.Errorf("%s: the worst stop is %+v, want one with a time, the cause young · Allocation Failure, the suspicion idle, and 2 lines, the first with 4.0000000 secs", name, worst)
		}
		for _, p := range r.Problems {
			if p.Kind != view.ProblemOrder {
				t.Errorf("%s: there is a problem: %+v, want none but %s", name, p, view.ProblemOrder)
			}
		}
		var text bytes.Buffer
		if err := view.Text(&text, view.Style{}, r); err != nil || !strings.Contains(text.String(), "full · System.gc()") {
			t.Errorf("%s: error %v, want none, and \"full · System.gc()\" in the text\n%s", name, err, text.String())
		}
	}
}

// rotatedJDK8 writes the log as JDK 8 rotates it: the file that the JVM writes to has a number
// and a suffix, and each file begins with a description of the JVM.
func rotatedJDK8(t *testing.T) string {
	half := strings.Index(jdk8Log, "2026-03-01T10:00:03")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gc.log.0": "2026-03-01 10:00:00 GC log file created gc.log.0\n" + jdk8Begin + jdk8Log[:half] +
			"2026-03-01 10:00:02 GC log file has reached the maximum size. Saved as gc.log.0\n",
		"gc.log.1.current": "2026-03-01 10:00:02 GC log file created gc.log.1\n" + jdk8Begin + jdk8Log[half:],
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A pause without an end is not in any figure, and the report says so.
func TestAnUnfinishedPauseOfJDK8IsAProblem(t *testing.T) {
	r := reportOn(t, Config{}, write(t, "gc.log", jdk8Log+"2026-03-01T10:00:09.000+0100: 9.000: [GC (Allocation Failure) 9.000: [ParNew: 9000K->10"))
	if r.Totals.Stops != 4 || !slices.ContainsFunc(r.Problems, func(p view.Problem) bool { return p.Kind == view.ProblemUnread && p.Count == 1 }) {
		t.Errorf("the totals are %+v, the problems %+v; want 4 stops and a problem %s that is counted once", r.Totals, r.Problems, view.ProblemUnread)
	}
}

// A window leaves out the lines whose stamps are before it.
func TestAWindowOfJDK8(t *testing.T) {
	r := reportOn(t, Config{Since: time.Date(2026, 3, 1, 9, 0, 7, 500e6, time.UTC)}, write(t, "gc.log", jdk8Begin+jdk8Log))
	if r.Totals.Collections != 1 || r.Totals.Full != 1 {
		t.Errorf("the totals are %+v, want Collections 1 and Full 1", r.Totals)
	}
}
