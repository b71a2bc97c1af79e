package jvm

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// Each start and end of a real JVM, each raise, and each start and end of the sidecar is marked once, with its
// cause. The JVMs' own logs contain no mark.
func TestWhatHappensIsMarked(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		r.flags = append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		flags := []string{"-Xlog:gc*=info:file=" + r.source + "/gc-%p.log", "-XX:ErrorFile=" + filepath.Join(r.source, "hs_err_pid%p.log"), "-Dpassword=secret"}
		r.up()
		if _, err := r.side.Addr(patience); err != nil { // the sidecar runs first: it would report an older JVM as seen, not as started
			t.Fatal(err)
		}
		var want []string
		for _, end := range []struct {
			signal syscall.Signal
			how    string
		}{
			{syscall.SIGTERM, "exited"},
			{syscall.SIGKILL, "killed"},
			{syscall.SIGSEGV, "crashed"},
		} {
			p := r.listening(at, flags, "Churn", "600000", "100")
			pid := p.PID()
			want = append(want, fmt.Sprintf(`gc-%d.log +jvm-started +pid=%d uptime=\S+ version=%d\S* collector=Serial main=Churn flags=".*-Xmx64m.*"`, pid, pid, jdk.Version))
			awaitMark(r, want[len(want)-1])
			if end.signal == syscall.SIGTERM {
				r.want("gc*=debug", "1h")
				awaitMark(r, fmt.Sprintf(`gc-%d.log +level-raised +pid=%d selection=gc\*=debug why="annotation ullage.dev/log" until=`, pid, pid))
				r.annotate(nil)
				want = append(want, fmt.Sprintf(`gc-%d.log +level-restored +pid=%d `, pid, pid))
				awaitMark(r, want[len(want)-1])
				r.side.Kill()
				r.up()
				want = append(want, `- +sidecar-started +version=\S+ after=kill`, fmt.Sprintf(`gc-%d.log +jvm-seen +pid=%d `, pid, pid))
				awaitMark(r, want[len(want)-1])
			}
			if err := syscall.Kill(pid, end.signal); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf(`gc-%d.log +jvm-ended +pid=%d how=%s`, pid, pid, end.how))
			awaitMark(r, want[len(want)-1])
		}
		r.stop()
		want = append(want, `- +sidecar-stopped +uptime=`)
		out := marksOf(r)
		for _, line := range want {
			if n := len(regexp.MustCompile("(?m)^\\S+ +"+line).FindAllString(out, -1)); n != 1 {
				t.Errorf("%d marks match %q, want 1", n, line)
			}
		}
		if strings.Contains(out, "secret") || strings.Count(out, "crash-report") != 1 {
			t.Error("want no secret of the application and exactly one crash report in the marks")
		}
		if t.Failed() {
			t.Log(out)
		}
		plain, err := exec.Command(program, "logs", "--stream", "gc*", r.dest).Output()
		if err != nil || strings.Contains(string(plain), "mark: ") {
			t.Errorf(`the JVMs' logs: error %v; want no error, and no "mark: " in them`, err)
		}
	})
}

// marksOf returns the list of the durable marks.
func marksOf(r *levelRig) string {
	r.Helper()
	out, err := exec.Command(program, "logs", "--marks", r.dest).Output()
	if err != nil {
		r.Fatal(err)
	}
	return string(out)
}

// awaitMark waits for a mark whose line matches the regular expression.
func awaitMark(r *levelRig, line string) {
	r.Helper()
	pattern, out := regexp.MustCompile("(?m)^\\S+ +"+line), ""
	defer func() {
		if r.Failed() {
			r.Log(out)
		}
	}()
	lab.Eventually(r, patience, "a mark is durable: "+line, func() bool {
		out = marksOf(r)
		return pattern.MatchString(out)
	})
}
