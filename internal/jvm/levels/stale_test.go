package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"

	"github.com/ullage/ullage/test/lab/fakejvm"
)

// leftBehind creates n sockets of killed JVMs in the shared directory.
func (r *rig) leftBehind(n int) {
	for pid := range n {
		must(r.t, listenAt(r.t, filepath.Join(r.cfg.Attach.Tmp, fmt.Sprintf(".java_pid%d", 100+pid))).Close())
	}
}

// Killed JVMs have left their sockets behind. The sockets do not appear in the status, are not errors, do not displace a JVM, and are not removed.
func TestSocketsThatAreLeftBehindAreNotJVMs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.leftBehind(20)
	j := r.jvm(7)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	if st := p.Status(); len(st.JVMs) != 1 || st.JVMs[0].PID != 7 || len(st.Errors) > 0 {
		t.Errorf("the status is %+v, want 1 JVM with PID 7, and no errors", st)
	}
	for _, kind := range attach.Kinds() {
		p.hasMetric(0, "ullage_attach_errors_total", string(kind))
	}
	p.hasMetric(0, "ullage_level_errors_total", opRaise)
	r.restored(p, j)
	if left, err := filepath.Glob(r.cfg.Attach.Tmp + "/.java_pid1*"); err != nil || len(left) != 20 {
		t.Errorf("%d sockets are left, error %v; want 20 and no error", len(left), err)
	}
}

// If there are only stale sockets, the sidecar waits for a JVM and logs why.
func TestWhereOnlySocketsAreLeftBehindAJVMIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.leftBehind(2)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	hasError(t, p.Status(), "waiting for a JVM: ")
	hasError(t, p.Status(), "no process listens on the sockets left there")
	p.hasMetric(0, "ullage_attach_errors_total", string(attach.NoJVM))
	if _, _, err := p.set("gc*=trace", time.Hour); err == nil {
		t.Error("a raise without a JVM: got no error, want one")
	}
	j := r.jvm(7)
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	hasError(t, p.Status(), "")
}

// A JVM that was killed while it was raised is no longer shown and is not restored.
func TestARaisedJVMThatWasKilledIsNotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	killed, j := r.jvm(7), r.jvm(8)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	logs(t, killed, fakejvm.Atop("gc*=debug"))
	killed.Kill()
	p.step()
	if st := p.Status(); len(st.JVMs) != 1 || st.JVMs[0].PID != 8 || len(st.Errors) > 0 || len(p.savedJVMs(r)) != 1 {
		t.Errorf("the status is %+v; %d baselines are saved; want 1 JVM with PID 8, no errors and 1 baseline", st, len(p.savedJVMs(r)))
	}
	p.hasMetric(1, "ullage_level_raised_jvms")
	p.log.says(t, 1, "JVM ended while its log level was raised")
	r.restored(p, j)
	p.hasMetric(0, "ullage_level_errors_total", opRestore)
	p.hasMetric(0, "ullage_attach_errors_total", string(attach.NoJVM))
	if _, err := os.Lstat(killed.Socket()); err != nil {
		t.Error(err)
	}
}
