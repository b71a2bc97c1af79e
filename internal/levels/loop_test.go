package levels

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/attach"
)

func TestAnAnnotationRaisesAndItsRemovalRestores(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	stop := p.run()
	p.started()
	if n := j.count(); n != 0 {
		t.Errorf("%d commands without a raise: %q", n, j.sent(0))
	}

	r.annotate("log", "gc*=debug", "log-for", "1h")
	soon(t, patience, j, atop("gc*=debug"))
	p.polls(3)
	if sent := j.sent(0); len(sent) != 2 {
		t.Errorf("for a raise, and some polls, it was told %q", sent)
	}
	st := p.Status()
	if st.Cause != FromAnnotation || st.Selection != "gc*=debug" || st.Until.Sub(st.Since) != time.Hour || st.Why != "annotation ullage.dev/log" {
		t.Errorf("status %+v", st)
	}
	want := JVMStatus{PID: 1, Applied: "gc*=debug", Outputs: []string{"file=" + filepath.Join(r.cfg.Source, "gc.log")}}
	if len(st.JVMs) != 1 || st.JVMs[0].PID != 1 || st.JVMs[0].Applied != want.Applied || !slices.Equal(st.JVMs[0].Outputs, want.Outputs) || st.JVMs[0].Error != "" {
		t.Errorf("status of the JVMs %+v, want %+v", st.JVMs, want)
	}
	p.hasMetric(1, "ullage_level_raised")

	r.annotate()
	soon(t, patience, j, ownSelection)
	within(t, patience, "the raise is over", func() bool { return p.Status().Cause == "" && p.metric("ullage_level_raised") == 0 })
	must(t, stop())
	if sent := j.sent(0); len(sent) != 4 {
		t.Errorf("for a raise and a restore it was told %q", sent)
	}
	p.log.says(t, 1, "log level raised")
	p.log.says(t, 1, "log level restored")
	p.log.says(t, 0, "WARN")
	p.hasMetric(1, "ullage_level_raises_total", "annotation")
	p.hasMetric(1, "ullage_level_restores_total")
	p.lint()
}

func TestNothingIsSentWhileNothingChanges(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range 30 {
		p.step()
	}
	if sent := j.sent(0); len(sent) != 2 {
		t.Errorf("in 30 updates of one raise it was told %q", sent)
	}
	r.annotate("log", "gc*=debug", "log-for", "20m")
	p.step()
	if st := p.Status(); st.Until.Sub(st.Since) != 20*time.Minute || j.count() != 2 {
		t.Errorf("for another length: %+v, %q", st, j.sent(2))
	}
	r.annotate()
	for range 30 {
		p.step()
	}
	logs(t, j, ownSelection)
	if sent := j.sent(2); len(sent) != 2 {
		t.Errorf("in 30 updates after the end of it: %q", sent)
	}
}

func TestARaiseRunsOutAndDoesNotComeBack(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1s")
	p := r.process()
	began := time.Now()
	stop := p.run()
	soon(t, patience, j, atop("gc*=debug"))
	soon(t, patience, j, ownSelection)
	if lasted := time.Since(began); lasted < time.Second {
		t.Errorf("it lasted %s", lasted)
	}
	within(t, patience, "it is over in the status", func() bool { return p.Status().Cause == "" })
	p.log.says(t, 1, "its time is over")
	must(t, stop())
	p = r.process() // the annotation is still there
	for range 3 {
		p.step()
	}
	logs(t, j, ownSelection)
	j.hasTaken(4)
}

// The end is a point in time that everybody is shown: it is met when it comes,
// and not with the next look at the annotations.
func TestARaiseEndsWhenItsTimeIsOver(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	p.run()
	soonest := time.Hour
	for _, lasts := range []string{"1250ms", "1251ms", "1252ms"} { // the machine may be busy
		r.annotate("log", "gc*=debug", "log-for", lasts) // to between two polls
		soon(t, patience, j, atop("gc*=debug"))
		within(t, patience, "the status", func() bool { return p.Status().Cause != "" })
		until := p.Status().Until
		soon(t, patience, j, ownSelection)
		late := time.Since(until)
		if soonest = min(soonest, late); late < 0 {
			t.Errorf("it ended %s too early", -late)
		}
	}
	if soonest > 100*time.Millisecond {
		t.Errorf("it ended %s late at least", soonest)
	}
}

func TestARaiseThatEndsDuringAnUpdateIsNotForgottenUntilTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.jvm(1)
	p := r.process()
	r.annotate("log", "gc*=debug", "log-for", "1s")
	p.step()
	until := p.Status().Until
	passes(t, until)
	p.finish(p.fleet.state.clone(), until.Add(-time.Millisecond), nil)
	if p.next.After(until) || !p.until.Equal(until) {
		t.Errorf("it ended at %s, and the next update is due at %s", until, p.next)
	}
}

func TestTheEndOfARaiseIsToldRoundedUp(t *testing.T) {
	t.Parallel()
	p := newRig(t).process()
	at := time.Date(2026, 11, 20, 16, 45, 11, 1, time.UTC)
	p.journal.change(Change{Until: at, reason: "annotation"})
	p.journal.change(Change{Until: at.Truncate(time.Second), reason: "annotation"})
	p.log.says(t, 1, "until=2026-11-20T16:45:12Z")
	p.log.says(t, 1, "until=2026-11-20T16:45:11Z")
}

func TestTheSameAnnotationRaisesAgainAfterItWasGone(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	for range 3 {
		r.annotate("log", "gc*=debug")
		p.step()
		logs(t, j, atop("gc*=debug"))
		r.restored(p, j)
	}
	p.hasMetric(3, "ullage_level_raises_total", "annotation")
}

// Another ID is another raise: it begins again, also after its time was over.
func TestTheSameSelectionWithAnotherIDIsAnotherRaise(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	r.annotate("log", "gc*=debug", "log-for", "1s", "log-id", "one")
	p.step()
	first := p.Status()
	passes(t, first.Until)
	p.step()
	logs(t, j, ownSelection)
	p = r.process()
	p.step() // a restart makes no other raise of it
	logs(t, j, ownSelection)
	r.annotate("log", "gc*=debug", "log-for", "1s", "log-id", "two")
	p.step()
	logs(t, j, atop("gc*=debug"))
	if st := p.Status(); first.ID != "one" || st.ID != "two" || !st.Until.After(first.Until) {
		t.Errorf("first %+v, then %+v", first, st)
	}
	r.annotate("log", "gc*=debug", "log-for", "1s", "log-id", "t w o") // bad: what is in effect stays
	p.step()
	if st := p.Status(); st.ID != "two" || len(st.Problems) != 1 {
		t.Errorf("%+v", st)
	}
}

func TestRaisesDoNotAddUp(t *testing.T) {
	r, j := alone(t)
	p := r.process()
	for _, sel := range []string{"gc*=debug", "safepoint*=trace", "class+load=info,gc+heap=trace", "all=debug", "gc*=debug"} {
		r.annotate("log", sel)
		p.step()
		logs(t, j, atop(strings.Replace(sel, "all=debug", "all=debug,perf+class+link=off", 1)))
	}
	if n := j.count(); n != 6 {
		t.Errorf("%d commands for five raises: %q", n, j.sent(0))
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
	soon(t, patience, j, atop("gc*=debug"))

	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug", "log", "safepoint*=debug")
	soon(t, patience, j, atop("safepoint*=debug"))
	if _, _, err := r.command().Set(t.Context(), selected(t, "class+load*=info"), 1200*time.Millisecond); err != nil {
		t.Error(err)
	}
	logs(t, j, atop("class+load*=info"))
	within(t, patience, "the command is noticed", func() bool { return p.Status().Cause == FromCommand })
	soon(t, patience, j, atop("safepoint*=debug"))
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug")
	soon(t, patience, j, atop("gc*=debug"))
	within(t, patience, "the trigger's is in the status", func() bool { return p.Status().Cause == FromTrigger })
	must(t, stop())
	logs(t, j, ownSelection)
}

func TestARestartedJVMIsRaisedAgain(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	soon(t, patience, j, atop("gc*=debug"))
	j.restart()
	soon(t, 3*time.Second, j, atop("gc*=debug"))
	within(t, patience, "it is in the status", func() bool { st := p.Status(); return len(st.JVMs) == 1 && st.JVMs[0].Applied != "" })
	r.annotate()
	soon(t, patience, j, ownSelection)
	within(t, patience, "it is over in the status", func() bool { return p.metric("ullage_level_raised") == 0 })
	p.log.says(t, 2, "log level raised")
	p.log.says(t, 1, "log level restored") // what ended has not been
	p.log.says(t, 0, "WARN")
}

func TestAJVMThatIsNotThereYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	within(t, patience, "the status says what is waited for", func() bool { return len(p.Status().Errors) > 0 })
	hasError(t, p.Status(), "waiting for a JVM")
	within(t, patience, "it looks again", func() bool { return p.Status().Since.Before(time.Now().Add(-2 * time.Second)) })
	p.log.says(t, 1, "waiting for a JVM")
	j := r.jvm(1)
	soon(t, 3*time.Second, j, atop("gc*=debug"))
	within(t, patience, "the error is over", func() bool { return len(p.Status().Errors) == 0 })
}

func TestEveryShippedOutputIsRaisedAndNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := func(name string) string { return filepath.Join(r.cfg.Source, name) }
	j := startJVM(t, r.cfg.Attach.Tmp, 7, in("gc-%p.log"), "/var/log/app/gc.log", in("app.txt"), in("safepoint %t.log"), "relative.log")
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	want := []string{"all=warning", "all=off", atop("gc*=debug"), ownSelection, ownSelection, atop("gc*=debug"), ownSelection}
	for i, sel := range want {
		if got := j.selectionOf(i); got != sel {
			t.Errorf("output %d logs %s, want %s", i, got, sel)
		}
	}
	var listed []Listed
	var err error
	p.during(func() { listed, err = r.command().List(t.Context()) })
	if err != nil || len(listed) != 1 || len(listed[0].Outputs) != len(want) {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	for i, o := range listed[0].Outputs {
		shipped := i == 2 || i == 5
		if o.Shipped != shipped || (o.Raised == "gc*=debug") != shipped || o.Selection != want[i] {
			t.Errorf("listed as %+v", o)
		}
	}
	r.annotate()
	p.step()
	for i := 2; i < len(want); i++ {
		if got := j.selectionOf(i); got != ownSelection {
			t.Errorf("output %d logs %s in the end", i, got)
		}
	}
}

func TestAJVMThatLogsElsewhereIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := startJVM(t, r.cfg.Attach.Tmp, 2, "/var/log/app/gc.log")
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range 5 {
		p.step()
	}
	hasError(t, p.Status(), "none of its outputs is shipped")
	hasError(t, p.Status(), "/var/log/app/gc.log")
	j := r.jvm(1)
	for range 5 {
		p.step()
	}
	logs(t, j, atop("gc*=debug"))
	hasError(t, p.Status(), "") // it matters only where there is no other
	if sent := other.sent(0); !slices.Equal(sent, []string{listCommand}) {
		t.Errorf("the other JVM was told %q", sent)
	}
}

func TestAttachOffTouchesNothing(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Mode = attach.Off
	r.annotate("log", "gc*=debug")
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	p := r.process()
	if err := p.Run(ctx); err != nil || j.count() != 0 {
		t.Errorf("%v, told %q", err, j.sent(0))
	}
	if _, err := os.Stat(filepath.Dir(r.state(stateName))); !os.IsNotExist(err) {
		t.Errorf("the state directory: %v", err)
	}
	p.log.says(t, 1, "--attach is off")
}

func TestTheStateOfThirtyThreeRunsOfAJVMIsReadBack(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range maxJVMs + 1 { // within the time that one is remembered that has ended
		p.step()
		logs(t, j, atop("gc*=debug"))
		j.restart()
	}
	p.step()
	p.kill()
	p = r.process()
	r.annotate()
	p.step()
	p.step()
	logs(t, j, ownSelection)
	if strings.Contains(p.log.String(), "not sound") {
		t.Errorf("it does not believe what it saved itself:\n%s", p.log)
	}
}
