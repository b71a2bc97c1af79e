package jvm

import (
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// A stopped JVM does not answer. When it continues, it executes the commands that it was sent; the
// last request wins.
func TestLevelsOfAStoppedJVM(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm, before := r.raisedJVM()
		jvm.signal(syscall.SIGSTOP)
		r.want("gc*=trace", "1h")
		r.timedOut()
		r.annotate(nil)
		jvm.signal(syscall.SIGCONT)
		lab.Eventually(t, patience, "the restore is verified", func() bool { return r.metric("ullage_level_restores_total") == 1 })
		r.configured(jvm, before)
		lab.Eventually(t, patience, "no error is left", func() bool { return len(r.levels().Errors) == 0 })
	})
}

// The sidecar gets SIGTERM after its first attempt to restore a stopped JVM has timed out. The JVM continues a
// moment later, so the drain must restore it.
func TestLevelsDrainTriesAgain(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm, before := r.raisedJVM()
		jvm.signal(syscall.SIGSTOP)
		r.annotate(nil)
		r.timedOut()
		if err := r.side.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		jvm.signal(syscall.SIGCONT)
		if code, err := r.side.Wait(patience); err != nil || code != 0 {
			t.Errorf("the sidecar ends with %d, want 0: %v", code, err)
		}
		if is := jvm.configuration(); is != before {
			t.Errorf("after the drain, the configuration is\n%swant the same as before\n%s", is, before)
		}
	})
}

// raisedJVM raises a JVM and returns it with the configuration that it had before.
func (r *levelRig) raisedJVM() (jvm *listened, before string) {
	r.Helper()
	jvm = r.listening(place{}, []string{r.gcLog()}, "Churn", "600000", "0")
	before = jvm.configuration()
	r.want("gc*=debug", "1h")
	r.raisedUntil()
	r.selects(jvm, "gc*=debug")
	return jvm, before
}

func (r *levelRig) timedOut() {
	r.Helper()
	lab.Eventually(r, patience, "the command times out", func() bool {
		l := r.levels()
		return len(l.JVMs) == 1 && l.JVMs[0].Kind == "timeout"
	})
}

// A person turns off all logging of a raised JVM. Detecting that before each restore would cost every JVM one more
// command. So the restore makes the JVM create the output a second time. The sidecar logs that, and the raise is
// over.
func TestLevelsOfAnOutputThatIsGone(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		r.flags = append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		r.up()
		jvm := r.listening(at, []string{"-Xlog:gc*=info:file=" + r.source + "/gc.log::filecount=1,filesize=0"}, "Churn", "600000", "0")
		r.want("gc*=debug", "1h")
		r.selects(jvm, "gc*=debug")
		r.raisedUntil()
		if _, err := jcmd(jvm.socket, "VM.log disable"); err != nil {
			t.Fatal(err)
		}
		r.annotate(nil)
		lab.Eventually(t, patience, "the raise is over, and the sidecar has logged that the output was deleted", func() bool {
			return r.levels().Raise == nil && strings.Contains(r.side.Stderr(), "an output was deleted while it was raised")
		})
		if is := jvm.configuration(); !strings.Contains(is, "all=off,gc*=info ") {
			t.Errorf("want all=off,gc*=info in the configuration:\n%s", is)
		}
		if err := r.side.Stop(patience); err != nil {
			t.Error(err)
		}
	})
}
