package fault

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// exitsUndrained terminates a sidecar whose destination does not take lines. The sidecar must give up, report what is
// left, and exit with status 1.
func exitsUndrained(t *testing.T, side *lab.Sidecar) {
	t.Helper()
	saysUndrained(t, side)
	if code, err := side.Wait(patience); err != nil || code != 1 {
		t.Errorf("exit code %d, want 1; error: %v", code, err)
	}
}

func saysUndrained(t *testing.T, side *lab.Sidecar) {
	t.Helper()
	begun := time.Now()
	if err := side.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, patience, "the sidecar reports what is left", func() bool {
		return strings.Contains(side.Stderr(), "not drained within") && strings.Contains(side.Stderr(), "bytes of")
	})
	t.Logf("gave up after %s: %s", time.Since(begun).Round(10*time.Millisecond), lastLine(side.Stderr()))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// The sidecar gives up in time. If the kernel holds a thread in a frozen call, the end of the process and its
// exit code are visible only at the thaw.
func TestTerminatedWhileFrozen(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--drain-timeout", "1s")
	thaw := v.freeze()
	r.writes(perSecond)
	saysUndrained(t, r.side)
	if r.side.Exited() {
		t.Log("the process ended before the thaw")
	}
	thaw()
	if code, err := r.side.Wait(patience); err != nil || code != 1 {
		t.Errorf("exit code %d, want 1; error: %v", code, err)
	}
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	r.turnsGreen()
	r.balances()
}

func TestKilledWhileFrozen(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	for range 3 {
		thaw := v.freeze()
		r.writes(perSecond / 2)
		if err := r.side.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		thaw()
		if _, err := r.side.Wait(patience); err != nil {
			t.Fatal(err)
		}
		r.side = lab.Run(t, r.source, r.dest, r.flags...)
		r.turnsGreen()
		r.persists(1000)
	}
	r.balances()
}

// If a sidecar is killed in a call into a frozen disk, the kernel keeps all its resources, including its port. The
// next sidecar still works.
func TestKilledWhileFrozenKeepsItsPort(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	addr, err := r.side.Addr(patience)
	if err != nil {
		t.Fatal(err)
	}
	thaw := v.freeze()
	r.writes(perSecond / 2)
	if err := r.side.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := r.side.Wait(100 * time.Millisecond); err == nil {
		t.Error("the killed sidecar ended before the thaw, want it blocked in a call into the frozen disk")
	}
	r.flags = append(r.flags, "--listen", addr)
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	saysOf(t, r.side, "admin address is taken", "waiting for another ullage to release the destination")
	r.writes(perSecond / 2)
	thaw()
	r.turnsGreen()
	r.persists(1000)
	r.balances()
}

// A stall is not an error: the sidecar waits, the writer does not, and afterwards every line is
// there.
func TestFrozenForAWhile(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	thaw := v.freeze()
	r.writes(2 * perSecond)
	if status, _, err := r.side.Get("/healthz"); err != nil || status != 200 {
		t.Errorf("/healthz in a stall: %d, error %v; want 200 and no error", status, err)
	}
	thaw()
	r.persists(2 * perSecond)
	r.balances()
}
