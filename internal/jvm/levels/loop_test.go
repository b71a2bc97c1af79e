package levels

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

func TestAnAnnotationRaisesAndItsRemovalRestores(t *testing.T) {
	r, j := alone(t)
	r.annotate()
	p := r.process()
	stop := p.run()
	p.started()
	if n := j.Count(); n != 0 {
		t.Errorf("%d commands were sent without a raise, want none: %q", n, j.Sent(0))
	}

	r.annotate("log", "gc*=debug", "log-for", "1h")
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	p.polls(3)
	if sent := j.Sent(0); len(sent) != 2 {
		t.Errorf("for a raise and some polls, the JVM was sent %q, want 2 commands", sent)
	}
	st := p.Status()
	if st.Cause != plan.FromAnnotation || st.Raise.Selection.String() != "gc*=debug" || st.Raise.Until.Sub(st.Raise.Since) != time.Hour || st.Raise.Why != "annotation ullage.dev/log" {
		t.Errorf("the status is %+v, want a raise to gc*=debug for %s by the annotation ullage.dev/log", st, time.Hour)
	}
	want := plan.JVM{PID: 1, Applied: selected(t, "gc*=debug"), Outputs: []string{"file=" + filepath.Join(r.cfg.Source, "gc.log")}}
	if len(st.JVMs) != 1 || st.JVMs[0].PID != 1 || st.JVMs[0].Applied != want.Applied || !slices.Equal(st.JVMs[0].Outputs, want.Outputs) || st.JVMs[0].Error != "" {
		t.Errorf("the status has the JVMs %+v, want %+v", st.JVMs, want)
	}
	p.hasMetric(1, "ullage_level_raised_jvms")

	r.annotate()
	soon(t, patience, j, fakejvm.OwnSelection)
	within(t, patience, "the raise is over", func() bool { return p.Status().Cause == "" && p.metric("ullage_level_raised_jvms") == 0 })
	must(t, stop())
	if sent := j.Sent(0); len(sent) != 4 {
		t.Errorf("for a raise and a restore, the JVM was sent %q, want 4 commands", sent)
	}
	p.log.says(t, 1, "log level raised")
	p.log.says(t, 1, "log level restored")
	p.log.says(t, 0, "WARN")
	p.hasMetric(1, "ullage_level_raises_total", "annotation")
	p.hasMetric(1, "ullage_level_restores_total")
}

func TestNothingIsSentWhileNothingChanges(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range 30 {
		p.step()
	}
	if sent := j.Sent(0); len(sent) != 2 {
		t.Errorf("in 30 updates of one raise, the JVM was sent %q, want 2 commands", sent)
	}
	r.annotate("log", "gc*=debug", "log-for", "20m")
	p.step()
	if st := p.Status(); st.Raise.Until.Sub(st.Raise.Since) != 20*time.Minute || j.Count() != 2 {
		t.Errorf("after a change of the length: the status is %+v; the JVM was sent %q; want a raise for %s and no command", st, j.Sent(2), 20*time.Minute)
	}
	r.annotate()
	for range 30 {
		p.step()
	}
	logs(t, j, fakejvm.OwnSelection)
	if sent := j.Sent(2); len(sent) != 2 {
		t.Errorf("in 30 updates after the raise, the JVM was sent %q, want 2 commands", sent)
	}
}

func TestARestartedJVMIsRaisedAgain(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	j.Restart()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the raise", func() bool { st := p.Status(); return len(st.JVMs) == 1 && st.JVMs[0].Applied.String() != "" })
	r.annotate()
	soon(t, patience, j, fakejvm.OwnSelection)
	within(t, patience, "the status shows that the raise is over", func() bool { return p.metric("ullage_level_raised_jvms") == 0 })
	p.log.says(t, 2, "log level raised")
	p.log.says(t, 1, "log level restored") // the run that ended was not restored
	p.log.says(t, 0, "WARN")
}

func TestAJVMThatIsNotThereYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	within(t, patience, "the status reports that it waits for a JVM", func() bool { return len(p.Status().Errors) > 0 })
	hasError(t, p.Status(), "waiting for a JVM")
	within(t, patience, "the Loop looks again", func() bool { return p.Status().Raise.Since.Before(time.Now().Add(-2 * time.Second)) })
	p.log.says(t, 1, "waiting for a JVM")
	j := r.jvm(1)
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status has no error any more", func() bool { return len(p.Status().Errors) == 0 })
}

func TestEveryShippedOutputIsRaisedAndNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := func(name string) string { return filepath.Join(r.cfg.Source, name) }
	j := fakejvm.Start(t, r.cfg.Attach.Tmp, 7, in("gc-%p.log"), "/var/log/app/gc.log", in("app.txt"), in("safepoint %t.log"), "relative.log")
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	want := []string{"all=warning", "all=off", fakejvm.Atop("gc*=debug"), fakejvm.OwnSelection, fakejvm.OwnSelection, fakejvm.Atop("gc*=debug"), fakejvm.OwnSelection}
	for i, sel := range want {
		if got := j.SelectionOf(i); got != sel {
			t.Errorf("output %d logs %s, want %s", i, got, sel)
		}
	}
	var listed []outputs.Listed
	var err error
	p.during(func() { listed, err = r.command().List(t.Context()) })
	if err != nil || len(listed) != 1 || len(listed[0].Outputs) != len(want) {
		t.Fatalf("listed %+v, error %v; want 1 JVM with %d outputs, and no error", listed, err, len(want))
	}
	for i, o := range listed[0].Outputs {
		shipped := i == 2 || i == 5
		if o.Shipped != shipped || (o.Raised == "gc*=debug") != shipped || o.Selection != want[i] {
			t.Errorf("listed as %+v; want the selection %s, shipped and raised: %t", o, want[i], shipped)
		}
	}
	r.annotate()
	p.step()
	for i := 2; i < len(want); i++ {
		if got := j.SelectionOf(i); got != fakejvm.OwnSelection {
			t.Errorf("after the restore, output %d logs %s, want %s", i, got, fakejvm.OwnSelection)
		}
	}
}

func TestAJVMThatLogsElsewhereIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := fakejvm.Start(t, r.cfg.Attach.Tmp, 2, "/var/log/app/gc.log")
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
	logs(t, j, fakejvm.Atop("gc*=debug"))
	hasError(t, p.Status(), "") // a JVM without a shipped output is an error only if there is no other JVM
	if sent := other.Sent(0); !slices.Equal(sent, []string{fakejvm.ListCommand}) {
		t.Errorf("the other JVM was sent %q, want one list and nothing else", sent)
	}
}

func TestAttachOffTouchesNothing(t *testing.T) {
	r, j := alone(t)
	r.cfg.Attach.Mode = attach.Off
	r.annotate("log", "gc*=debug")
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	p := r.process()
	if err := p.Run(ctx, func() {}); err != nil || j.Count() != 0 {
		t.Errorf("error %v; the JVM was sent %q; want no error and no command", err, j.Sent(0))
	}
	if _, err := os.Stat(filepath.Dir(r.state(stateName))); !os.IsNotExist(err) {
		t.Errorf("the state directory: got the error %v, want it not to exist", err)
	}
	p.log.says(t, 1, "--attach is off")
}

func TestTheStateOfThirtyThreeRunsOfAJVMIsReadBack(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range plan.MaxJVMs + 1 { // within the time for which an ended JVM is remembered
		p.step()
		logs(t, j, fakejvm.Atop("gc*=debug"))
		j.Restart()
	}
	p.step()
	p.kill()
	p = r.process()
	r.annotate()
	p.step()
	p.step()
	logs(t, j, fakejvm.OwnSelection)
	if strings.Contains(p.log.String(), "are damaged") {
		t.Errorf("a process reports the state that its predecessor saved as damaged, want it accepted:\n%s", p.log)
	}
}
