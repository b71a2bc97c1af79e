package tail

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/naming"
)

func TestEveryFileThatIsNotALogIsAStream(t *testing.T) {
	for name, want := range map[string]naming.Kind{
		"gc.log": naming.KindLog, "gc-1.log.3": naming.KindLog, "my_hs_err.log": naming.KindLog, "replay.log": naming.KindLog,
		"hs_err_pid1.log": naming.KindCrash, "hs_err.7": naming.KindCrash, "hs_err_pid12345.txt": naming.KindCrash,
		"replay_pid1.log": naming.KindReplay, "replay_pid1_compid22.log": naming.KindReplay, "inline_pid7_compid3.log": naming.KindReplay,
		"hotspot_pid1.log": naming.KindOutput, "hotspot.log": naming.KindOutput, "hotspot.log.1": naming.KindLog,
	} {
		if got := naming.KindOf(name); got != want {
			t.Errorf("%s has the kind %q, want %q", name, got, want)
		}
		if got := naming.StreamOf(name); want != naming.KindLog && got != name {
			t.Errorf("%s is in stream %s, want a stream of its own name", name, got)
		}
	}
}

// A pattern that an operator has narrowed must not hide the report of a crash.
func TestReportsAreFollowedWhateverMatches(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Match = "gc*.log" })
	r.put("gc.log", "one\n")
	r.put("hs_err.1", "first report\n")
	r.put("hs_err.2", "second report\n")
	r.put("replay_pid1_compid2.log", "replay\n")
	r.put("other.log", "not followed\n")
	r.read()
	r.want("gc.log", "one\n")
	r.want("hs_err.1", "first report\n")
	r.want("hs_err.2", "second report\n")
	r.want("replay_pid1_compid2.log", "replay\n")
	r.want("other.log", "")
}

// allocated returns how many bytes of a file are in memory.
func allocated(t *testing.T, f *os.File) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// A dying JVM may take seconds to write its report and writes it in many pieces.
func TestAHalfWrittenReportIsGivenBackByNobody(t *testing.T) {
	r := newRig(t)
	if r.src.env.cfg.Reclaim != ReclaimAuto {
		t.Fatal("the rig does not punch holes, which this test is about")
	}
	text := strings.Repeat("# a line of the report, and of the log beside it\n", 1000)
	report, log := r.writer("hs_err_pid1.log"), r.writer("gc.log")
	for range 3 {
		r.write(report, text)
		r.write(log, text)
		r.discard() // under the highest pressure
		r.read()
		r.commit()
	}
	if got := allocated(t, log); got >= int64(len(text)) {
		t.Fatalf("the log still takes %d bytes: nothing was punched here", got)
	}
	if r.droppedMetric() == 0 {
		t.Fatal("no line of the log was dropped: there was no pressure")
	}
	whole := strings.Repeat(text, 3)
	if got, err := os.ReadFile(r.path("hs_err_pid1.log")); err != nil || string(got) != whole || allocated(t, report) < int64(len(whole)) {
		t.Fatalf("the report has %d bytes, %d of them in memory, want %d (%v)", len(got), allocated(t, report), len(whole), err)
	}
	r.write(report, "END.\n")
	if err := report.Close(); err != nil {
		t.Fatal(err)
	}
	r.read()
	r.commit()
	r.commit() // the second tick without a write looks for a writer
	r.want("hs_err_pid1.log", whole+"END.\n")
	if _, err := os.Stat(r.path("hs_err_pid1.log")); !os.IsNotExist(err) {
		t.Errorf("the complete report is still there: %v", err)
	}
}

// Any process may give its log the name of a report. If nothing bounded the size of a report, such a
// log would fill the tmpfs.
func TestAnEndlessReportIsGivenBackLikeALog(t *testing.T) {
	r := newRig(t)
	report := r.writer("hs_err_pid1.log")
	for range 9 { // MiB, more than any report has
		r.write(report, strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024))
		r.read()
		r.commit()
	}
	r.src.Reclaimer.Reclaim()
	if got := allocated(t, report); got > 1<<20 {
		t.Errorf("%d bytes are still in memory, want at most %d", got, 1<<20)
	}
}

// After a restart, the sidecar continues to read a report and must not count it as another
// crash.
func TestACrashCountsOnce(t *testing.T) {
	r := newRig(t)
	count := func(want float64) {
		t.Helper()
		if got := testutil.ToFloat64(r.src.env.metrics.crashes); got != want {
			t.Fatalf("%v crashes are counted, want %v", got, want)
		}
	}
	report := r.writer("hs_err_pid1.log")
	r.put("gc.log", "one\n")
	r.put("replay_pid1.log", "not a report\n")
	r.read()
	r.commit()
	count(0) // the report is empty
	r.write(report, "#\n# A fatal error\n")
	r.read()
	count(0) // if the process were killed now, the next start would count the crash
	r.commit()
	count(1)
	r.write(report, "# more\n")
	r.read()
	r.commit()
	count(1)
	r.reopen(r.committed())
	r.write(report, "END.\n")
	r.read()
	r.commit()
	count(0) // this process has not counted a crash yet
	r.put("hs_err_pid2.log", "#\n")
	r.read()
	r.commit()
	count(1)
	// The next JVM has pid 1 again and overwrites the report.
	if err := os.Truncate(r.path("hs_err_pid1.log"), 0); err != nil {
		t.Fatal(err)
	}
	r.put("hs_err_pid1.log", "#\n# Another fatal error\n")
	r.read()
	r.commit()
	count(2)
}
