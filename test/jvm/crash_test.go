package jvm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// injectedOptions are those that the injector gives a JVM, with the log in the
// source of the rig.
func (r *rig) injectedOptions() []string {
	r.Helper()
	s := &starts{T: r.T, jdk: r.jdk, source: r.source}
	_, value := s.injected(r.T, nil)
	return strings.Fields(value)
}

// The report of a crash is in the durable copy, as a stream of its own: a pod that
// is gone has taken it along until now.
func TestTheReportOfACrashIsPersisted(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		p := r.start(r.injectedOptions(), "Churn", "600000", "20")
		name := "hs_err_pid" + strconv.Itoa(p.PID()) + ".log"
		lab.Eventually(r, patience, "the JVM's log is persisted", func() bool {
			return r.metric(`ullage_persisted_bytes_total{stream="gc-`+strconv.Itoa(p.PID())+`.log"}`) > 0
		})
		if err := syscall.Kill(p.PID(), syscall.SIGSEGV); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(patience); err == nil {
			t.Error("the JVM has ended without an error")
		}
		r.stop()
		report := r.persisted(name)
		for _, part := range []string{"# A fatal error has been detected by the Java Runtime Environment:", "SIGSEGV", "\nEND.\n"} {
			if !bytes.Contains(report, []byte(part)) {
				t.Errorf("no %q in the %d bytes of %s", part, len(report), name)
			}
		}
	})
}

// A JVM with the injector's options maps no file of counters, which would be on
// a disk, and jcmd still reaches it by its number.
func TestNoCountersAreMappedFromADisk(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		for _, c := range []struct {
			name   string
			flags  []string
			mapped bool
		}{
			{"as the injector has it", r.injectedOptions(), false},
			{"without", nil, true},
		} {
			p := r.start(append([]string{"-XX:+UsePerfData"}, c.flags...), "Churn", "600000", "1")
			pid := strconv.Itoa(p.PID())
			lab.Eventually(r, patience, "jcmd reaches the JVM", func() bool {
				return exec.Command(filepath.Join(jdk.Home, "bin", "jcmd"), pid, "VM.version").Run() == nil
			})
			maps, err := os.ReadFile("/proc/" + pid + "/maps")
			if err != nil {
				t.Fatal(err)
			}
			if mapped := bytes.Contains(maps, []byte("hsperfdata")); mapped != c.mapped {
				t.Errorf("%s: a file of counters is mapped: %v", c.name, mapped)
			}
			p.Kill()
		}
	})
}

// A real JVM has a second log on a disk: the sidecar finds it, where it reaches
// the JVM as the injector has arranged it.
func TestASecondLogIsFound(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		tmp, err := os.MkdirTemp("", "tmp-") // short, for the path of a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(tmp) })
		at := place{tmp: tmp}
		r.flags = append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		other := filepath.Join(r.truth, "other.log")
		r.listening(at, []string{r.gcLog(), "-Xlog:safepoint:file=" + other}, "Churn", "600000", "20")
		r.up()
		lab.Eventually(t, patience, "the other log is in the metrics", func() bool { return r.metric("ullage_jvm_disk_outputs") == 1 })
		if logs := r.levels().OtherLogs; len(logs) != 1 || !strings.HasSuffix(logs[0], other) {
			t.Errorf("the status: %q", logs)
		}
	})
}
