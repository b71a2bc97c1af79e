package levels

import (
	"context"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// together begins a job for each selection, or for a reset if the selection is empty, before any of them is answered.
// It returns once all jobs are answered.
func together(p *process, selections ...string) {
	p.t.Helper()
	for _, sel := range selections {
		r := control.Request{Verb: control.VerbReset}
		if sel != "" {
			r = control.Request{Verb: control.VerbSet, Raise: raiseTo(p.t, sel, time.Hour)}
		}
		p.jobs.begin(context.Background(), newJob(r))
	}
	answerAll(p)
}

// answerAll runs updates until all jobs are answered.
func answerAll(p *process) {
	p.t.Helper()
	within(p.t, patience, "an answer to every job", func() bool {
		p.runner.work.Wait()
		_ = p.update(context.Background(), nil) // the jobs get the errors
		p.jobs.answerDone(context.Background())
		return len(p.jobs.pending) == 0
	})
}

// impatient returns a JVM that the process of a sidecar has found. The sidecar soon gives up waiting for an answer.
func impatient(t *testing.T) (*rig, *fakejvm.JVM, *process) {
	t.Helper()
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	j := r.jvm(1)
	p := r.process()
	p.step()
	return r, j, p
}

// After an interrupt, the sidecar still works on the command when the next one arrives.
func TestASetThatFailsEndsOnlyItsOwnRaise(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string   // the raise that the JVM has
		jobs   []string // as for together; every set fails
		want   string   // the raise in effect in the end
	}{
		"alone":                       {"gc*=debug", []string{"gc*=trace"}, "gc*=debug"},
		"a reset comes after it":      {"gc*=debug", []string{"gc*=trace", ""}, ""},
		"another comes after it":      {"", []string{"all=trace", "gc*=debug"}, ""},
		"two come after it":           {"gc*=debug", []string{"all=trace", "gc*=trace", "safepoint*=trace"}, "gc*=debug"},
		"a reset is between the two":  {"gc*=debug", []string{"gc*=trace", "", "safepoint*=trace"}, ""},
		"a reset comes after the two": {"gc*=debug", []string{"gc*=trace", "safepoint*=trace", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, j, p := impatient(t)
			if c.before != "" {
				together(p, c.before)
				logs(t, j, fakejvm.Atop(c.before))
			}
			j.When(fakejvm.Always(fakejvm.Garble))
			together(p, c.jobs...)
			if st := p.Status(); st.Raise.Selection.String() != c.want || c.want != "" && st.Cause != plan.FromCommand {
				t.Errorf("the raise in effect is %q by %q, want %q", st.Raise.Selection, st.Cause, c.want)
			}
			j.When(nil)
			want := fakejvm.OwnSelection
			if c.want != "" {
				want = fakejvm.Atop(c.want)
			}
			retried(p, func() bool { return j.Selection() == want })
		})
	}
}

func TestARaiseThatAJVMHasIsExtendedWhateverFailsElsewhere(t *testing.T) {
	t.Parallel()
	r, j, p := impatient(t)
	together(p, "gc*=debug")
	r.jvm(2).When(fakejvm.Always(fakejvm.Garble))
	n := j.Count()
	long := newJob(control.Request{Verb: control.VerbSet, Raise: raiseTo(t, "gc*=debug", 5*time.Hour)})
	p.jobs.begin(t.Context(), long)
	answerAll(p)
	got := <-long.answer
	if len(got.Errors) != 1 || time.Until(got.Until) < 4*time.Hour || !p.Status().Raise.Until.Equal(got.Until) {
		t.Errorf("the reply is %+v, and the raise ends at %s; want 1 error, and the same end in both, 5 h after the set", got, p.Status().Raise.Until)
	}
	j.HasTaken(n)
}
