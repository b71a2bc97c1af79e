package fault

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// exitsUndrained ends a sidecar whose destination does not take lines: it has
// to give up, while the destination stays so, and to say what is left.
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
	lab.Eventually(t, patience, "the sidecar says what is left", func() bool {
		return strings.Contains(side.Stderr(), "not drained within") && strings.Contains(side.Stderr(), "bytes of")
	})
	t.Logf("gave up after %s: %s", time.Since(begun).Round(10*time.Millisecond), lastLine(side.Stderr()))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// The process gives up in time. Where the kernel holds a thread in the frozen
// call, its end is seen, with its exit code, at the thaw only.
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

// The kernel keeps all that a sidecar had that was killed in a call into a
// frozen disk, its port too. The next one does its work all the same.
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
		t.Error("the killed one has ended: the test shows nothing")
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

// A stall is no error: the sidecar waits, the JVM does not, and afterwards
// everything is there.
func TestFrozenForAWhile(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	thaw := v.freeze()
	r.writes(2 * perSecond)
	if status, _, err := r.side.Get("/healthz"); err != nil || status != 200 {
		t.Errorf("/healthz in a stall: %d, error: %v", status, err)
	}
	thaw()
	r.persists(2 * perSecond)
	r.balances()
}
