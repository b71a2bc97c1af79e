package levels

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

func TestARunningManagerTellsOfASetAndEndsIt(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	stop := p.run()
	p.started()
	c := r.command()
	changes, until, err := c.Set(t.Context(), raiseTo(t, "gc*=debug", 1200*time.Millisecond))
	logs(t, j, fakejvm.Atop("gc*=debug"))
	if err != nil || len(changes) != 1 || time.Until(until) > 1200*time.Millisecond {
		t.Fatalf("the changes are %+v, the raise ends at %s, error %v; want 1 change, an end within 1.2 s and no error", changes, until, err)
	}
	if ch := changes[0]; ch.PID != 1 || !strings.HasPrefix(ch.Output, "file=") || ch.From != fakejvm.OwnSelection || ch.To != fakejvm.OwnSelection+",gc*=debug" ||
		ch.Why != "ullage levels set" || !ch.Until.Equal(until) {
		t.Errorf(`the change is %+v, want one of pid 1 and a file, from %s to that selection with gc*=debug added, by "ullage levels set" until %s`, ch, fakejvm.OwnSelection, until)
	}
	if st := p.Status(); !st.Raise.Until.Equal(until) || st.Raise.Why != "ullage levels set" || len(st.JVMs) != 1 || st.JVMs[0].Applied.String() != "gc*=debug" {
		t.Errorf(`the status is %+v, want a raise by "ullage levels set" until %s, and gc*=debug applied to 1 JVM`, st, until)
	}
	p.hasMetric(1, "ullage_level_raised_jvms")
	soon(t, patience, j, fakejvm.OwnSelection)
	if early := time.Until(until); early > 0 {
		t.Errorf("the raise ended %s too early", early)
	}
	within(t, patience, "the status shows that the raise has ended", func() bool { return p.Status().Cause == "" && p.metric("ullage_level_raised_jvms") == 0 })
	must(t, stop())
	p.log.says(t, 1, "log level raised")
	p.log.says(t, 1, "its time is over")
	p.hasMetric(1, "ullage_level_raises_total", "command")
	p.hasMetric(1, "ullage_level_restores_total")
	j.HasTaken(4)
}

func TestASecondSetReplacesTheFirst(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	for _, c := range []struct {
		sel     string
		changes int
	}{{"gc*=debug", 1}, {"safepoint*=debug", 1}, {"safepoint*=debug", 0}} {
		changes, _, err := p.set(c.sel, time.Hour)
		if err != nil || len(changes) != c.changes {
			t.Errorf("%s: the changes are %+v, error %v; want %d changes and no error", c.sel, changes, err, c.changes)
		}
		logs(t, j, fakejvm.Atop(c.sel))
	}
	changes, err := p.reset()
	if err != nil || len(changes) != 1 || changes[0].From != fakejvm.OwnSelection+",safepoint*=debug" || changes[0].To != fakejvm.OwnSelection || changes[0].Why != "ullage levels reset" {
		t.Errorf(`the changes are %+v, error %v; want 1, to %s from that selection with safepoint*=debug added, by "ullage levels reset", and no error`, changes, err, fakejvm.OwnSelection)
	}
	logs(t, j, fakejvm.OwnSelection)
}

func TestASetThatIsRefusedLeavesWhatWas(t *testing.T) {
	t.Parallel()
	for _, before := range []plan.Cause{"", plan.FromCommand, plan.FromAnnotation} {
		r := newRig(t)
		j := r.jvm(1)
		want := fakejvm.OwnSelection
		p := r.process()
		switch before {
		case plan.FromCommand:
			_, _, err := p.set("safepoint*=debug", time.Hour)
			must(t, err)
			want = fakejvm.Atop("safepoint*=debug")
		case plan.FromAnnotation:
			r.annotate("log", "safepoint*=debug")
			want = fakejvm.Atop("safepoint*=debug")
		}
		p.step()
		logs(t, j, want)
		st := p.Status()
		changes, until, err := p.set("gc*=debug,gc+ref+heap=debug", time.Hour)
		if err == nil || !strings.Contains(err.Error(), "Did you mean any of the following? gc+heap*") || len(changes) != 0 || !until.IsZero() {
			t.Errorf("before %q: the changes are %+v, the raise ends at %s, error %v; want no change, no raise and an error that suggests gc+heap*", before, changes, until, err)
		}
		logs(t, j, want)
		n := j.Count()
		p.step()
		if again := p.Status(); again.Cause != st.Cause || again.Raise.Selection != st.Raise.Selection || !again.Raise.Until.Equal(st.Raise.Until) || j.Count() != n {
			t.Errorf("before %q: the status was %+v and is %+v; the JVM was sent %q; want the same raise and no command", before, st, again, j.Sent(n))
		}
	}
}

func TestASetThatFindsNoJVMLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.annotate()
	p := r.process()
	_, _, err := p.set("gc*=debug", time.Hour)
	if err == nil || !strings.Contains(err.Error(), "no JVM has a socket in "+r.cfg.Attach.Tmp) {
		t.Errorf("got the error %v, want %q in it", err, "no JVM has a socket in "+r.cfg.Attach.Tmp)
	}
	j := r.jvm(1)
	p.step()
	if p.Status().Cause != "" || j.Count() != 0 {
		t.Errorf(`the status is %+v; the JVM was sent %q; want Cause "" and no command`, p.Status(), j.Sent(0))
	}
	if changes, err := p.reset(); err != nil || len(changes) != 0 || j.Count() != 0 {
		t.Errorf("the changes are %+v, error %v; the JVM was sent %q; want no changes, no error and no command", changes, err, j.Sent(0))
	}
}

// The plan still remembers a JVM that has just ended. It must not count that JVM as raised.
func TestASetThatFindsNoJVMButOneThatHasEndedLeavesNothing(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	j.Kill()
	must(t, os.Remove(j.Socket()))
	changes, until, err := p.set("safepoint*=debug", time.Hour)
	if err == nil || len(changes) != 0 || !until.IsZero() {
		t.Errorf("the changes are %+v, the raise ends at %s, error %v; want no change, no raise and an error", changes, until, err)
	}
	p.step()
	if st := p.Status(); st.Cause != plan.FromAnnotation {
		t.Errorf("the status is %+v, want the cause %q", st, plan.FromAnnotation)
	}
}

func TestASetThatSomeJVMsTakeIsWantedAndTellsOfTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	stuck, j := r.jvm(1), r.jvm(2)
	stuck.When(fakejvm.Always(fakejvm.Hang))
	r.annotate()
	p := r.process()
	changes, until, err := p.set("gc*=debug", time.Hour)
	if !timedOut(err) || len(changes) != 1 || changes[0].PID != 2 || until.IsZero() {
		t.Errorf(`the changes are %+v, the raise ends at %s, error %v; want 1 change of pid 2, a raise and an error with "no answer"`, changes, until, err)
	}
	logs(t, j, fakejvm.Atop("gc*=debug"))
	stuck.When(nil)
	retried(p, func() bool { return stuck.Selection() == fakejvm.Atop("gc*=debug") }) // raises the other JVM too
	must(t, ignoreChanges(p.reset()))
	logs(t, j, fakejvm.OwnSelection)
	logs(t, stuck, fakejvm.OwnSelection)
}

func ignoreChanges(_ []plan.Change, err error) error { return err }

// timedOut reports whether the error is that a JVM did not answer. A command receives only the text
// of the error.
func timedOut(err error) bool { return err != nil && strings.Contains(err.Error(), "no answer") }

func TestAResetEndsTheRaiseOfAnAnnotationUntilThatChanges(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	changes, err := p.reset()
	if err != nil || len(changes) != 1 || changes[0].To != fakejvm.OwnSelection {
		t.Errorf("the changes are %+v, error %v; want 1 to %s and no error", changes, err, fakejvm.OwnSelection)
	}
	logs(t, j, fakejvm.OwnSelection)
	n := j.Count()
	for range 3 {
		p.step()
	}
	p.kill()
	p2 := r.process()
	p2.step()
	if st := p2.Status(); j.Count() != n || st.Cause != "" {
		t.Errorf("the status is %+v; the JVM was sent %q; want no raise and no command", st, j.Sent(n))
	}
	p.log.says(t, 1, "log level restored")
	p.log.says(t, 1, "ullage levels reset")
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p2.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
}

func TestARestoreNamesTheLastOfTwoRaisesOfTheSameSelection(t *testing.T) {
	r, j := alone(t)
	p := r.raised(j)
	_, _, err := p.set("gc*=debug", time.Hour)
	must(t, err)
	r.annotate() // the raise of the command goes on
	p.step()
	changes, err := p.reset()
	if err != nil || len(changes) != 1 || changes[0].Why != plan.WhyReset {
		t.Errorf("the changes are %+v, error %v; want 1 by %q and no error", changes, err, plan.WhyReset)
	}
}

func TestAResetThatIsNotAnsweredIsDoneByTheManagerThatRuns(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Timeout = impatience
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	within(t, patience, "a raise", func() bool { return p.metric("ullage_level_raised_jvms") == 1 })
	j.When(fakejvm.Once(1, fakejvm.Configuring, fakejvm.Hang))
	changes, _, err := r.command().Reset(t.Context())
	if !timedOut(err) || len(changes) != 0 {
		t.Errorf(`the changes are %+v, error %v; want no change and an error with "no answer"`, changes, err)
	}
	soon(t, patience, j, fakejvm.OwnSelection)
	within(t, patience, "the status shows that the raise has ended", func() bool { return p.Status().Cause == "" && p.metric("ullage_level_raised_jvms") == 0 })
}

func TestAManagerThatRunsTellsThatAResetEndedACommandOrATrigger(t *testing.T) {
	t.Parallel()
	for _, cause := range []plan.Cause{plan.FromCommand, plan.FromTrigger} {
		r := newRig(t)
		j := r.jvm(1)
		r.annotate("trigger", "dropped")
		p := r.process()
		p.step()
		if cause == plan.FromTrigger {
			fire(p, dropLine)
			takeAlarm(t, p)
		} else {
			_, _, err := p.set("gc*=debug", time.Hour)
			must(t, err)
		}
		p.step()
		must(t, ignoreChanges(p.reset()))
		p.step()
		logs(t, j, fakejvm.OwnSelection)
		if p.Status().Cause != "" {
			t.Errorf(`%s: the status is %+v, want Cause ""`, cause, p.Status())
		}
		p.log.says(t, 1, "log level restored")
		p.log.says(t, 1, `why="ullage levels reset"`)
	}
}

func TestAnInterruptedCommandDoesNotWaitForTheSidecar(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.annotate()
	p := r.process()
	p.tick(t.Context()) // the sidecar listens, but takes no job
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := r.command().Set(ctx, raiseTo(t, "gc*=debug", time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got the error %v, want %v", err, context.DeadlineExceeded)
	}
}

// Without a sidecar, no process would end a raise, so a command changes nothing. It leaves no files either, because a
// shipper looks for files in the state directory to decide whether a source is new.
func TestWithoutASidecarACommandOnlyLooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.jvm(1)
	c := r.command()
	if _, err := c.List(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Rotate(t.Context()); err != nil {
		t.Error(err)
	}
	n := j.Count()
	_, _, setErr := c.Set(t.Context(), raiseTo(t, "gc*=debug", time.Hour))
	_, appErr := c.SetApp(t.Context(), loggers.Of(ul.Debug), time.Hour)
	_, _, resetErr := c.Reset(t.Context())
	_, saveErr := c.Save(t.Context())
	for verb, err := range map[string]error{"set": setErr, "set --app": appErr, "reset": resetErr, "save": saveErr} {
		if !errors.Is(err, control.ErrNoOwner) {
			t.Errorf("%s: %v, want %v", verb, err, control.ErrNoOwner)
		}
	}
	if j.Count() != n {
		t.Errorf("the JVM was sent %q, want nothing", j.Sent(n))
	}
	if left, err := os.ReadDir(r.cfg.Source); err != nil || len(left) > 0 {
		t.Errorf("the source has the files %v, error %v; want no files and no error", left, err)
	}
}

// A sidecar that is starting does not listen yet.
func TestACommandWaitsForASidecarThatStarts(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	set := make(chan error, 1)
	go func() {
		_, _, err := r.command().Set(t.Context(), raiseTo(t, "gc*=debug", time.Hour))
		set <- err
	}()
	p := r.process()
	p.run()
	must(t, <-set)
	logs(t, j, fakejvm.Atop("gc*=debug"))
}

// After a sidecar was killed, a list still shows what is raised, whatever has happened to the names of its sockets. A
// command does not restore the level, but the next sidecar does.
func TestASuccessorRestoresWhatAKilledSidecarRaised(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p := r.process()
	p.step()
	p.kill()
	listed, err := r.command().List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Outputs[2].Raised != "gc*=debug" {
		t.Errorf(`the list is %+v, error %v; want 1 JVM whose third output has Raised "gc*=debug", and no error`, listed, err)
	}
	if _, _, err := r.command().Reset(t.Context()); !errors.Is(err, control.ErrNoOwner) {
		t.Errorf("the reset: got the error %v, want %v", err, control.ErrNoOwner)
	}
	logs(t, j, fakejvm.Atop("gc*=debug"))
	p = r.process()
	changes, err := p.reset()
	if err != nil || len(changes) != 1 || changes[0].From != fakejvm.OwnSelection+",gc*=debug" {
		t.Errorf("the changes are %+v, error %v; want 1 from %s with gc*=debug, and no error", changes, err, fakejvm.OwnSelection)
	}
	logs(t, j, fakejvm.OwnSelection)
	p = r.settle()
	if st := p.Status(); st.Cause != "" {
		t.Errorf("the status is %+v, want no raise: the reset ended the annotation's raise", st)
	}
}
