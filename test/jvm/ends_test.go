package jvm

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// If the sidecar sees the process of a JVM, the mark of the JVM's end says how the JVM ended, even if the path to
// its socket disappears with the process.
func TestHowAVisibleJVMEndedIsMarked(t *testing.T) {
	for mode, isolated := range map[string]bool{"auto": false, "process-namespace": true} {
		t.Run(mode, func(t *testing.T) {
			alongside(t, func(t *testing.T, jdk lab.JDK) {
				r := newLevelRig(t, jdk, "--attach", mode, "--jvm-tmp", t.TempDir())
				r.up()
				if _, err := r.side.Addr(patience); err != nil {
					t.Fatal(err)
				}
				run := func(name, milliseconds string) *listened {
					at := place{tmp: newTmp(r), isolated: isolated}
					return r.listening(at, []string{"-Xlog:gc*=info:file=" + filepath.Join(r.source, name+".log")}, "Churn", milliseconds, "10")
				}
				terminated, killed := run("terminated", "600000"), run("killed", "600000")
				run("exited", "20000")
				for _, name := range []string{"terminated", "killed", "exited"} {
					awaitMark(r, name+`.log +jvm-started `)
				}
				signal(t, terminated, isolated, syscall.SIGTERM)
				signal(t, killed, isolated, syscall.SIGKILL)
				for name, how := range map[string]string{"terminated": "exited", "killed": "killed", "exited": "exited"} {
					awaitMark(r, fmt.Sprintf(`%s.log +jvm-ended +pid=\d+ how=%s( (exit|signal)=\S+)?( why=.*)?$`, name, how))
				}
				r.stop()
			})
		})
	}
}

// signal sends a signal to a JVM. An isolated JVM is the child of the process that created its
// namespaces.
func signal(t *testing.T, p *listened, isolated bool, sig syscall.Signal) {
	t.Helper()
	pid := p.PID()
	if isolated {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			t.Fatal(err)
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(children))); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}
