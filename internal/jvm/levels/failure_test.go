package levels

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

func TestARefusalIsToldWholeAndLeavesWhatWas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, selection, text string }{
		{"", "gc*=debug,saftypoint=debug", "VM.log answered: Invalid tag 'saftypoint' in log selection. Did you mean 'safepoint'?"},
		{"safepoint*=trace", "gc*=debug,saftypoint=debug", "Did you mean 'safepoint'?"},
		{"", "gc*=debug,gc+ref+heap=trace", "VM.log answered: No tag set matches selection: gc+ref+heap. Did you mean any of the following? gc+heap* gc+ref* gc+heap+numa gc+phases+ref gc+ref+start"},
		{"safepoint*=trace", "gc*=debug,gc+ref+heap=trace", "No tag set matches selection: gc+ref+heap. Did you mean"},
	} {
		r := newRig(t)
		j := r.jvm(1)
		want := fakejvm.OwnSelection
		p := r.process()
		if c.before != "" {
			want = fakejvm.Atop(c.before)
			r.annotate("log", c.before)
			p.step()
		}
		r.annotate("log", c.selection)
		p.step()
		logs(t, j, want)
		n := j.Count()
		for range 5 {
			p.step()
		}
		if j.Count() != n {
			t.Errorf("%s: after the refusal the JVM was sent %q, want nothing", c.selection, j.Sent(n))
		}
		hasError(t, p.Status(), c.text)
		st := p.Status()
		if st.JVMs[0].Kind != attach.Refused || !strings.Contains(st.JVMs[0].Error, c.text) || st.JVMs[0].Applied.String() != c.before {
			t.Errorf("%s: the JVMs are %+v, want the first refused with %q and %q applied", c.selection, st.JVMs, c.text, c.before)
		}
		p.log.says(t, 1, c.text)
		p.hasMetric(1, "ullage_level_errors_total", opRaise)
		p.hasMetric(1, "ullage_attach_errors_total", string(attach.Refused))

		r.annotate("log", "gc*=trace")
		p.step()
		logs(t, j, fakejvm.Atop("gc*=trace"))
		hasError(t, p.Status(), "")
		r.restored(p, j)
	}
}

func TestARefusedRaiseThatCouldNotBeTakenBackIsTakenBackLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, want string
		fault        func(string) fakejvm.Reaction
	}{
		"the restore is not verified":      {"", fakejvm.OwnSelection, fakejvm.Once(2, fakejvm.ListCommand, fakejvm.Lie)},
		"the restore is not answered":      {"", fakejvm.OwnSelection, fakejvm.Once(2, fakejvm.Configuring, fakejvm.Hang)},
		"the raise before is not answered": {"safepoint*=trace", fakejvm.Atop("safepoint*=trace"), fakejvm.Once(2, fakejvm.Configuring, fakejvm.Hang)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.cfg.Attach.Timeout = impatience
			j := r.jvm(1)
			p := r.process()
			if c.before != "" {
				r.annotate("log", c.before)
				p.step()
			}
			j.When(c.fault)
			r.annotate("log", "gc*=debug,gc+ref+heap=trace")
			p.run()
			within(t, patience, "the status shows the refusal", func() bool { return len(p.Status().Errors) > 0 })
			if !becomes(patience, func() bool { return j.Selection() == c.want && (c.before != "" || len(p.savedJVMs(r)) == 0) }) {
				t.Errorf("the JVM is left with %s, want %s; %d baselines are saved; the JVM was sent %q", j.Selection(), c.want, len(p.savedJVMs(r)), j.Sent(0))
			}
		})
	}
}

// savedJVMs returns the baselines in the saved state.
func (p *process) savedJVMs(r *rig) map[string]*plan.Baseline {
	p.t.Helper()
	text, err := os.ReadFile(r.state(stateName))
	must(p.t, err)
	s, err := plan.Parse(text, time.Now())
	must(p.t, err)
	return s.JVMs
}

func TestARestoreThatTheListDoesNotShowIsTriedAgain(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	j.When(fakejvm.Always(fakejvm.Lie))
	r.annotate()
	p.run()
	within(t, patience, "the status shows an error", func() bool { return len(p.Status().Errors) > 0 })
	hasError(t, p.Status(), "pid 1: verify the restored configuration: file=")
	if st := p.Status(); len(st.JVMs) != 1 || st.JVMs[0].Applied.String() != "gc*=debug" || st.JVMs[0].Error == "" {
		t.Errorf("the status is %+v, want 1 JVM with an error and gc*=debug applied", st)
	}
	p.hasMetric(1, "ullage_level_errors_total", opRestore)
	p.hasMetric(0, "ullage_level_restores_total")
	within(t, patience, "another attempt", func() bool { return p.metric("ullage_level_errors_total", opRestore) == 2 })
	j.When(nil)
	within(t, patience, "the restore is counted", func() bool { return p.metric("ullage_level_restores_total") == 1 && len(p.Status().Errors) == 0 })
	logs(t, j, fakejvm.OwnSelection)
	p.log.says(t, 1, "verify the restored configuration")
	p.log.says(t, 1, "log level restored")
}

func TestAnOutputThatIsGoneAfterTheRestoreIsAnError(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	r.annotate()
	j.When(func(cmd string) fakejvm.Reaction {
		if cmd == fakejvm.ListCommand {
			j.Outputs = j.Outputs[:2] // the JVM holds its lock here
		}
		return fakejvm.Obey
	})
	p.step()
	hasError(t, p.Status(), "the JVM no longer lists file=")
}

func TestAJVMThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = time.Hour
	stuck, j := r.jvm(1), r.jvm(2)
	stuck.When(fakejvm.Always(fakejvm.Hang))
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
}

func TestAJVMThatHangsIsToldOfAndTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	stuck, j := r.jvm(1), r.jvm(2)
	stuck.When(fakejvm.Always(fakejvm.Hang))
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the JVM that hangs", func() bool { return len(p.Status().JVMs) == 2 && p.Status().JVMs[0].Error != "" })
	st := p.Status()
	if st.JVMs[0].PID != 1 || st.JVMs[0].Kind != attach.TimedOut || st.JVMs[0].Applied.String() != "" || st.JVMs[1].Error != "" || st.JVMs[1].Applied.String() != "gc*=debug" {
		t.Errorf("the JVMs are %+v, want pid 1 timed out with nothing applied, and the other with gc*=debug and no error", st.JVMs)
	}
	p.hasMetric(1, "ullage_attach_errors_total", string(attach.TimedOut))
	p.hasMetric(1, "ullage_level_errors_total", opRaise)
	p.hasMetric(1, "ullage_level_raised_jvms")
	p.log.says(t, 1, "no answer")

	// After a failed attempt, no command is sent to the JVM for a second.
	within(t, patience, "a second attempt", func() bool { return stuck.Count() >= 2 })
	at := stuck.Times()
	if idle := at[1].Sub(at[0]) - r.cfg.Attach.Timeout; idle < time.Second-50*time.Millisecond {
		t.Errorf("the second attempt came %s after the failure of the first, want at least a second", idle)
	}
	if n := j.Count(); n != 2 {
		t.Errorf("the other JVM was sent %q, want 2 commands", j.Sent(0))
	}
}

func TestFailuresToAttachAreToldByTheirKind(t *testing.T) {
	t.Parallel()
	for kind, how := range map[attach.Kind]fakejvm.Reaction{attach.TimedOut: fakejvm.Hang, attach.BadReply: fakejvm.Garble} {
		r := newRig(t)
		r.cfg.Attach.Timeout = impatience
		j := r.jvm(1)
		j.When(fakejvm.Always(how))
		r.annotate("log", "gc*=debug")
		p := r.process()
		p.step()
		if st := p.Status(); len(st.JVMs) != 1 || st.JVMs[0].Kind != kind || len(st.Errors) != 1 {
			t.Errorf("%s: the status is %+v, want 1 JVM of this kind and 1 error", kind, st)
		}
		p.hasMetric(1, "ullage_attach_errors_total", string(kind))
		p.log.says(t, 1, "WARN")
		j.When(nil)
		retried(p, func() bool { return j.Selection() == fakejvm.Atop("gc*=debug") })
		hasError(t, p.Status(), "")
	}
}

func TestAJVMThatClosesWithoutAnAnswerIsTriedAgain(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Timeout = impatience
	j.When(fakejvm.Once(1, fakejvm.ListCommand, fakejvm.Mute))
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status has no error any more", func() bool { return len(p.Status().Errors) == 0 })
}

func TestWhatHasTheNameOfASocketIsToldOnceAndHoldsUpNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.WriteFile(r.cfg.Attach.Tmp+"/.java_pid3", nil, 0o600))
	j := r.jvm(1)
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range 3 {
		p.step()
	}
	logs(t, j, fakejvm.Atop("gc*=debug"))
	hasError(t, p.Status(), ".java_pid3: in place of the attach socket there is a regular file")
	p.hasMetric(1, "ullage_attach_errors_total", string(attach.NotASocket))
	p.log.says(t, 1, ".java_pid3")
	r.restored(p, j)
}

// A killed JVM leaves its socket behind, and the next JVM has another process ID.
func TestARaisedJVMThatWasKilledIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	killed := r.jvm(7)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	logs(t, killed, fakejvm.Atop("gc*=debug"))
	killed.Kill()
	j := r.jvm(8)
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	r.annotate()
	stop := p.run()
	soon(t, patience, j, fakejvm.OwnSelection)
	if !becomes(patience, func() bool { return len(p.savedJVMs(r)) == 0 }) {
		t.Errorf("the saved state still has a baseline of the killed JVM, want none; the JVMs are %+v, the errors %q", p.Status().JVMs, p.Status().Errors)
	}
	if err := stop(); err != nil {
		t.Errorf("the drain ended with the error %v, want none", err)
	}
}

func TestTheTimeOfTheLastReconcileStandsStillWhileOneFails(t *testing.T) {
	t.Parallel()
	const at = "ullage_level_last_reconcile_timestamp_seconds"
	r := newRig(t)
	j := r.jvm(1)
	r.annotate("log", "gc*=debug")
	p := r.process()
	begun := float64(time.Now().UnixMilli()) / 1000
	p.step()
	good := p.metric(at)
	if good < begun || p.Status().Reconciled.IsZero() {
		t.Errorf("the update began at %f, and the last reconcile was at %f, %s; want the reconcile to be later", begun, good, p.Status().Reconciled)
	}
	j.When(fakejvm.Always(fakejvm.Garble))
	r.annotate("log", "gc*=trace")
	p.step()
	p.step()
	if is := p.metric(at); is != good {
		t.Errorf("the time of the last reconcile went from %f to %f during a failure, want it to stay", good, is)
	}
	j.When(nil)
	retried(p, func() bool { return p.metric(at) > good })
}
