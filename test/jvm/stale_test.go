package jvm

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// Killed JVMs leave their attach sockets behind, and a directory may hold many such sockets. The status does not
// show them, and they neither cause errors nor delay a JVM. A stopped JVM, in contrast, is still a JVM.
func TestSocketsOfKilledJVMsAreNotJVMs(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		r.flags = append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		run := func(name string) *listened {
			return r.listening(at, []string{"-Xlog:gc*=info:file=" + filepath.Join(r.source, name+".log")}, "Churn", "600000", "10")
		}
		first, stopped := run("first"), run("stopped")
		before := stopped.configuration()
		killed := run("killed")
		killed.Kill()
		for pid := range 20 {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("%s/.java_pid%d", at.tmp, 4_000_000+pid)})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			l.Close()
		}
		r.up()
		r.want("gc*=debug", "1h")
		r.shipped("stopped.log", "[debug")
		stopped.signal(syscall.SIGSTOP)
		r.want("gc*=trace", "1h")
		shows := func(what string, want ...string) {
			t.Helper()
			var is []string
			lab.Eventually(t, patience, what, func() bool {
				is = nil
				for _, j := range r.levels().JVMs {
					is = append(is, fmt.Sprintf("%d %s %s", j.PID, j.Applied, j.Kind))
				}
				slices.Sort(is)
				slices.Sort(want)
				return slices.Equal(is, want)
			})
		}
		stuck := fmt.Sprintf("%d gc*=debug timeout", stopped.PID())
		shows("the two JVMs that exist", fmt.Sprintf("%d gc*=trace ", first.PID()), stuck)
		first.Kill()
		shows("the JVM that is stopped", stuck)
		second := run("second")
		shows("the JVM that has started since", stuck, fmt.Sprintf("%d gc*=trace ", second.PID()))
		stopped.signal(syscall.SIGCONT)
		r.annotate(nil)
		r.configured(stopped, before)
		lab.Eventually(t, patience, "no error is left", func() bool { return len(r.levels().Errors) == 0 })
		if n := r.metric(`ullage_attach_errors_total{kind="no_jvm"}`) + r.metric(`ullage_attach_errors_total{kind="error"}`); n > 0 {
			t.Errorf("%v errors are counted, want 0", n)
		}
		if left, err := filepath.Glob(at.tmp + "/.java_pid*"); err != nil || len(left) != 20+4 {
			t.Errorf("%d sockets are left, error %v; want %d and no error", len(left), err, 20+4)
		}
	})
}
