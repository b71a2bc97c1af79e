package levels

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// killedAt runs one step of a process. It then resets the saved state to its content when the JVM received the nth
// command that begins with prefix, as if the process had been killed at that moment. how is the JVM's reaction to that
// command. The JVM ignores all later commands.
func (r *rig) killedAt(p *process, j *fakejvm.JVM, n int, prefix string, how fakejvm.Reaction) {
	r.t.Helper()
	var saved []byte
	j.When(func(cmd string) fakejvm.Reaction {
		if saved != nil {
			return fakejvm.Mute
		}
		if strings.HasPrefix(cmd, prefix) {
			if n--; n == 0 {
				saved, _ = os.ReadFile(r.state(stateName))
				return how
			}
		}
		return fakejvm.Obey
	})
	p.step()
	p.kill()
	j.When(nil)
	if saved == nil {
		r.t.Fatalf("the process never sent %s; it sent %q", prefix, j.Sent(0))
	}
	must(r.t, os.WriteFile(r.state(stateName), saved, 0o600))
}

// settle starts a new process, which brings the JVM to the wanted state.
func (r *rig) settle() *process {
	r.t.Helper()
	p := r.process()
	p.step()
	p.step()
	hasError(r.t, p.Status(), "")
	return p
}

func TestARestartNeitherProlongsARaiseNorAsksAgain(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p := r.process()
	p.step()
	until := p.Status().Raise.Until
	for range 3 {
		p.kill()
		p = r.settle()
	}
	if st := p.Status(); !st.Raise.Until.Equal(until) || st.Cause != plan.FromAnnotation || len(st.JVMs) != 1 || st.JVMs[0].Applied.String() != "gc*=debug" {
		t.Errorf("after restarts the status is %+v, want a raise until %s", st, until)
	}
	j.HasTaken(2)
	p.hasMetric(1, "ullage_level_raised_jvms")
	p.hasMetric(0, "ullage_level_raises_total", "annotation")
	r.restored(p, j)
}

func TestARaiseThatRunsOutWhileNobodyRunsIsRestoredAtTheStart(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "3s")
	p := r.process()
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	until := p.Status().Raise.Until
	p.kill()
	within(t, patience, "the end of the raise", func() bool { return time.Now().After(until) })
	p = r.settle()
	logs(t, j, fakejvm.OwnSelection)
	p.log.says(t, 1, "log level restored")
	j.HasTaken(4)
}

func TestAKillAroundARaise(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]fakejvm.Reaction{"after the save, before the command": fakejvm.Hang, "after the command, before the save": fakejvm.Stumble} {
		for _, still := range []bool{true, false} {
			r := newRig(t)
			r.cfg.Attach.Timeout = impatience
			j := r.jvm(1)
			r.annotate("log", "gc*=debug")
			r.killedAt(r.process(), j, 1, fakejvm.Configuring, how)
			if still {
				p := r.settle()
				logs(t, j, fakejvm.Atop("gc*=debug"))
				p.kill()
			}
			r.annotate()
			r.settle().hasMetric(0, "ullage_level_raised_jvms")
			logs(t, j, fakejvm.OwnSelection)
			if t.Failed() {
				t.Fatalf("killed %s; the raise is still wanted: %v", name, still)
			}
		}
	}
}

func TestAKillBeforeTheSaveLeavesNothing(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Timeout = impatience
	j.When(fakejvm.Once(1, fakejvm.ListCommand, fakejvm.Hang))
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step() // the list is not answered
	p.kill()
	logs(t, j, fakejvm.OwnSelection)
	r.annotate()
	r.settle()
	j.HasTaken(1)
}

func TestAKillAfterTheRestoreBeforeTheSave(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	r.annotate()
	r.killedAt(p, j, 1, fakejvm.ListCommand, fakejvm.Obey)
	logs(t, j, fakejvm.OwnSelection)
	r.settle()
	logs(t, j, fakejvm.OwnSelection)
	n := j.Count()
	r.settle()
	if j.Count() != n {
		t.Errorf("after the restore, the next process sent the JVM %q, want nothing", j.Sent(n))
	}
}

// A sidecar that drains restores the JVM, although the annotation's raise is not over.
func TestAKillAfterTheRestoreOfADrainWhileTheRaiseGoesOn(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p := r.process()
	p.step()
	p.plan.Draining = true
	r.killedAt(p, j, 1, fakejvm.ListCommand, fakejvm.Obey)
	logs(t, j, fakejvm.OwnSelection)
	r.settle()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	r.annotate()
	r.settle()
	logs(t, j, fakejvm.OwnSelection)
}

func TestAKillAroundAChangeOfTheRaise(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]fakejvm.Reaction{"before the command": fakejvm.Hang, "after the command, before the save": fakejvm.Stumble} {
		for after, want := range map[string]string{"safepoint*=debug": fakejvm.Atop("safepoint*=debug"), "gc*=debug": fakejvm.Atop("gc*=debug"), "": fakejvm.OwnSelection} {
			r := newRig(t)
			r.cfg.Attach.Timeout = impatience
			j := r.jvm(1)
			r.annotate("log", "gc*=debug")
			p := r.process()
			p.step()
			r.annotate("log", "safepoint*=debug")
			r.killedAt(p, j, 1, fakejvm.Configuring, how)
			r.annotate("log", after)
			r.settle()
			logs(t, j, want)
			r.annotate()
			r.settle()
			logs(t, j, fakejvm.OwnSelection)
			if t.Failed() {
				t.Fatalf("killed %s; wanted after that: %q", name, after)
			}
		}
	}
}

// A command without an answer may have taken effect nevertheless.
func TestAChangeThatWasNotAnsweredIsTakenBack(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Timeout = impatience
	p := r.raised(j)
	j.When(fakejvm.Once(1, fakejvm.Configuring, fakejvm.Stumble))
	r.annotate("log", "safepoint*=debug")
	p.step()
	logs(t, j, fakejvm.Atop("safepoint*=debug"))
	hasError(t, p.Status(), "no answer")
	r.annotate("log", "gc*=debug")
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
}

func TestARestoreThatWasNotVerifiedIsRaisedAgain(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Timeout = impatience
	p := r.raised(j)
	j.When(fakejvm.Once(1, fakejvm.ListCommand, fakejvm.Hang))
	r.restored(p, j)
	r.annotate("log", "gc*=debug")
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
}
