package levels

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

func TestARaiseRunsOutAndDoesNotComeBack(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1s")
	p := r.process()
	began := time.Now()
	stop := p.run()
	briefly(t, j, fakejvm.Atop("gc*=debug"))
	soon(t, patience, j, fakejvm.OwnSelection)
	if lasted := time.Since(began); lasted < time.Second {
		t.Errorf("the raise lasted only %s, want at least %s", lasted, time.Second)
	}
	within(t, patience, "the status shows that the raise is over", func() bool { return p.Status().Cause == "" })
	p.log.says(t, 1, "its time is over")
	must(t, stop())
	p = r.process() // the annotation is still there
	for range 3 {
		p.step()
	}
	logs(t, j, fakejvm.OwnSelection)
	j.HasTaken(4)
}

// Users are shown the end of a raise as a point in time. So the raise ends exactly then, not at the next poll of the
// annotations.
func TestARaiseEndsWhenItsTimeIsOver(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	p.run()
	soonest := time.Hour
	for n := 0; soonest > 100*time.Millisecond; n++ { // the machine may be busy
		if n == 30 {
			t.Fatalf("each of %d raises ended at least %s late, want one to end at most %s late", n, soonest, 100*time.Millisecond)
		}
		r.annotate("log", "gc*=debug", "log-for", fmt.Sprintf("%dms", 1250+n)) // ends between two polls
		soon(t, patience, j, fakejvm.Atop("gc*=debug"))
		within(t, patience, "the status shows the raise", func() bool { return p.Status().Cause != "" })
		until := p.Status().Raise.Until
		soon(t, patience, j, fakejvm.OwnSelection)
		late := time.Since(until)
		if soonest = min(soonest, late); late < 0 {
			t.Errorf("the raise ended %s too early", -late)
		}
	}
}

func TestARaiseThatEndsDuringAnUpdateIsNotForgottenUntilTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.jvm(1)
	p := r.process()
	r.annotate("log", "gc*=debug", "log-for", "1s")
	p.step()
	until := p.Status().Raise.Until
	passes(t, until)
	p.finish(p.plan.State.Clone(), until.Add(-time.Millisecond), nil)
	if p.next.After(until) || !p.until.Equal(until) {
		t.Errorf("the raise ends at %s, and the next update is due at %s; want the end %s and no later update", p.until, p.next, until)
	}
}

func TestTheEndOfARaiseIsToldRoundedUp(t *testing.T) {
	t.Parallel()
	p := newRig(t).process()
	at := time.Date(2026, 11, 20, 16, 45, 11, 1, time.UTC)
	p.reporter.change(plan.Change{Until: at, Reason: "annotation"})
	p.reporter.change(plan.Change{Until: at.Truncate(time.Second), Reason: "annotation"})
	p.log.says(t, 1, "until=2026-11-20T16:45:12Z")
	p.log.says(t, 1, "until=2026-11-20T16:45:11Z")
}

func TestTheSameAnnotationRaisesAgainAfterItWasGone(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	for range 3 {
		r.annotate("log", "gc*=debug")
		p.step()
		logs(t, j, fakejvm.Atop("gc*=debug"))
		r.restored(p, j)
	}
	p.hasMetric(3, "ullage_level_raises_total", "annotation")
}

// Another ID means another raise, which begins even if the earlier raise is already over.
func TestTheSameSelectionWithAnotherIDIsAnotherRaise(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	r.annotate("log", "gc*=debug", "log-for", "3s", "log-id", "one")
	p.step()
	first := p.Status().Raise
	passes(t, first.Until)
	p.step()
	logs(t, j, fakejvm.OwnSelection)
	p = r.process()
	p.step() // after a restart it is still the same raise
	logs(t, j, fakejvm.OwnSelection)
	r.annotate("log", "gc*=debug", "log-for", "1h", "log-id", "two")
	p.step()
	logs(t, j, fakejvm.Atop("gc*=debug"))
	if st := p.Status(); first.ID != "one" || st.Raise.ID != "two" || !st.Raise.Until.After(first.Until) {
		t.Errorf(`the first raise was %+v, then the status was %+v; want the IDs "one" and "two", and a later end`, first, st)
	}
	r.annotate("log", "gc*=debug", "log-for", "1h", "log-id", "t w o") // a bad ID: the raise in effect stays
	p.step()
	if st := p.Status(); st.Raise.ID != "two" || len(st.Problems) != 1 {
		t.Errorf(`the status is %+v, want ID "two" and 1 problem`, st)
	}
}

func TestRaisesDoNotAddUp(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	for _, sel := range []string{"gc*=debug", "safepoint*=trace", "class+load=info,gc+heap=trace", "all=debug", "gc*=debug"} {
		r.annotate("log", sel)
		p.step()
		logs(t, j, fakejvm.Atop(strings.Replace(sel, "all=debug", "all=debug,perf+class+link=off", 1)))
	}
	if n := j.Count(); n != 6 {
		t.Errorf("five raises took %d commands, want 6: %q", n, j.Sent(0))
	}
	r.restored(p, j)
}

func TestTheHighestCauseWinsWhileItLasts(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug")
	p := r.process()
	stop := p.run()
	within(t, patience, "the trigger is armed", func() bool { return p.Status().Armed })
	fire(p, dropLine)
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))

	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug", "log", "safepoint*=debug")
	soon(t, patience, j, fakejvm.Atop("safepoint*=debug"))
	if _, _, err := r.command().Set(t.Context(), raiseTo(t, "class+load*=info", 1200*time.Millisecond)); err != nil {
		t.Error(err)
	}
	logs(t, j, fakejvm.Atop("class+load*=info"))
	within(t, patience, "the status shows the raise of the command", func() bool { return p.Status().Cause == plan.FromCommand })
	soon(t, patience, j, fakejvm.Atop("safepoint*=debug"))
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug")
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the raise of the trigger", func() bool { return p.Status().Cause == plan.FromTrigger })
	must(t, stop())
	logs(t, j, fakejvm.OwnSelection)
}
