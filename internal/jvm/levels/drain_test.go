package levels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab/fakejvm"
)

func TestADrainRestoresAndTheRaiseOfAnAnnotationGoesOnAfterIt(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p := r.process()
	stop := p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the raise", func() bool { return p.Status().Cause != "" })
	until := p.Status().Raise.Until
	if err := stop(); err != nil {
		t.Error(err)
	}
	logs(t, j, fakejvm.OwnSelection)
	p.log.says(t, 1, "the sidecar drains")
	if st := p.Status(); st.Cause != "" || st.Armed {
		t.Errorf(`the status is %+v, want Cause "" and Armed false`, st)
	}
	p = r.process()
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the end of the raise", func() bool { return p.Status().Raise.Until.Equal(until) })
}

func TestADrainEndsOtherRaisesPermanently(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug", "trigger-for", "1h")
	p := r.process()
	stop := p.run()
	within(t, patience, "the trigger is armed", func() bool { return p.Status().Armed })
	fire(p, dropLine)
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	if _, _, err := r.command().Set(t.Context(), raiseTo(t, "all=debug", time.Hour)); err != nil {
		t.Error(err)
	}
	must(t, stop())
	logs(t, j, fakejvm.OwnSelection)
	n := j.Count()
	r.settle()
	logs(t, j, fakejvm.OwnSelection)
	if j.Count() != n {
		t.Errorf("the next process sent the JVM %q, want nothing", j.Sent(n))
	}
}

func TestADrainThatFindsNothingRaisedSendsNothing(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	stop := p.run()
	p.started()
	if err := stop(); err != nil || j.Count() != 0 {
		t.Errorf("error %v; the JVM was sent %q; want no error and no command", err, j.Sent(0))
	}
}

func TestADrainOfAJVMThatHangsEndsWithAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = time.Hour // so that the drain's own deadline matters
	j := r.jvm(1)
	r.annotate("log", "gc*=debug")
	p := r.process()
	stop := p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the raise", func() bool { return p.Status().Cause != "" })
	j.When(fakejvm.Always(fakejvm.Hang))
	if err := stop(); err == nil || !strings.Contains(err.Error(), "1 JVMs still have a raised log level") {
		t.Errorf(`got the error %v, want "1 JVMs still have a raised log level" in it`, err)
	}
	j.When(nil)
	r.annotate()
	r.settle()
	logs(t, j, fakejvm.OwnSelection)
}

func TestADrainWhileAJVMHangsBegins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = time.Hour
	stuck, j := r.jvm(1), r.jvm(2)
	stuck.When(fakejvm.Once(1, fakejvm.ListCommand, fakejvm.Hang))
	r.annotate("log", "gc*=debug")
	p := r.process()
	stop := p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	if err := stop(); err != nil {
		t.Error(err)
	}
	logs(t, j, fakejvm.OwnSelection)
	logs(t, stuck, fakejvm.OwnSelection)
}

// After a failed restore, the next attempt is not due yet when the drain begins.
func TestADrainWaitsForNoNextAttempt(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Timeout = impatience
	r.annotate("log", "gc*=debug")
	p := r.process()
	stop := p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	j.When(fakejvm.Once(1, fakejvm.Configuring, fakejvm.Hang))
	r.annotate()
	within(t, patience, "a restore fails", func() bool { return len(p.Status().Errors) > 0 })
	if err := stop(); err != nil {
		t.Errorf("the drain ended with the error %v, want none", err)
	}
	logs(t, j, fakejvm.OwnSelection)
}

// The levels are restored, whatever the application puts in the place of the state directory.
func TestADrainNeedsNoStateDirectory(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	dir := filepath.Dir(r.state(stateName))
	must(t, os.RemoveAll(dir))
	must(t, os.WriteFile(dir, nil, 0o600))
	must(t, p.drain(t.Context()))
	logs(t, j, fakejvm.OwnSelection)
}

func TestALockThatIsTakenAwayHoldsUpNeitherAChangeNorTheDrain(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	must(t, os.Remove(r.state(lockName)))
	other := owner(t, r)
	defer other.Release()
	r.annotate("log", "gc*=trace")
	p.step()
	logs(t, j, fakejvm.Atop("gc*=trace"))
	hasError(t, p.Status(), "lock the levels: another process holds")
	must(t, p.drain(t.Context()))
	logs(t, j, fakejvm.OwnSelection)
}
