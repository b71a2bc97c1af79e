package levels

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/format"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// Lines of JDK 17, with changed pause times.
const (
	dropLine    = "[0.015s][warning][                  ]   3435 messages dropped due to async logging"
	pauseLine   = "[0.078s][info ][gc                   ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->6M(64M) 612.198ms"
	stallLine   = "[0.078s][info ][gc,cpu               ] GC(0) User=0.00s Sys=0.01s Real=1.53s"
	warningLine = "[0.004s][warning][gc,init      ] Consider enabling -XX:+AlwaysPreTouch to avoid memory commit hiccups"
	safeLine    = `[0.078s][info ][safepoint            ] Safepoint "G1CollectForAllocation", Time since last: 29293918 ns, Reaching safepoint: 33638 ns, Cleanup: 10003 ns, At safepoint: 700252354 ns, Total: 700295995 ns`
)

// fire passes lines to the triggers as the reader does.
func fire(p *process, lines ...string) {
	var c format.Classifier
	for _, line := range lines {
		p.triggers.Line([]byte(line), c.Classify([]byte(line), nil), nil)
	}
}

func TestEachConditionFiresOnceWithItsReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trigger, line, reason, why string }{
		{"pause>500ms", pauseLine, ask.PauseCondition, "pause Young (Normal) (G1 Evacuation Pause) took 612.2ms"},
		{"pause>500ms", safeLine, ask.PauseCondition, "safepoint G1CollectForAllocation took 700.3ms"},
		{"pause>500ms", "[1.0s][info][safepoint] Total time for which application threads were stopped: 0.7003000 seconds, Stopping threads took: 0.0000456 seconds",
			ask.PauseCondition, "safepoint took 700.3ms"},
		{"io-stall", stallLine, ask.IOStallCondition, "a pause of 1.53s took only 10ms of CPU time"},
		{"dropped", dropLine, ask.DroppedCondition, "the JVM dropped 3435 lines of its log"},
		{"warning", warningLine, ask.WarningCondition, "a line at level warning: Consider enabling"},
		{"warning", "07:36:35.123 [main] ERROR c.e.Main -- failed", ask.WarningCondition, "a line at level error: 07:36:35.123 [main] ERROR c.e.Main -- failed"},
		{"warning", `{"level":"WARN"}`, ask.WarningCondition, `a line at level warning: {"level":"WARN"}`},
	} {
		r := newRig(t)
		j := r.jvm(1)
		r.annotate("trigger", c.trigger, "trigger-log", "gc*=debug", "trigger-for", "1h")
		p := r.process()
		p.step()
		if !p.Status().Armed || p.Status().Trigger != c.trigger {
			t.Fatalf("%s: the status is %+v, want this trigger to be armed", c.trigger, p.Status())
		}
		for range 3 {
			fire(p, c.line)
		}
		takeAlarm(t, p)
		p.step()
		fire(p, c.line)
		if len(p.triggers.Fired()) != 0 || p.Status().Armed {
			t.Errorf("%s: the trigger is armed or fired during the raise, want neither", c.trigger)
		}
		logs(t, j, fakejvm.Atop("gc*=debug"))
		p.hasMetric(1, "ullage_level_raises_total", c.reason)
		st := p.Status()
		if st.Cause != plan.FromTrigger || !strings.Contains(strings.ToLower(st.Raise.Why), strings.ToLower(c.why)) || st.Raise.Until.Sub(st.Raise.Since) != time.Hour {
			t.Errorf("%s: the status is %+v, want the reason %q", c.trigger, st, c.why)
		}
		if st.Disarmed != "a raise is in effect" {
			t.Errorf(`%s: the trigger is not armed because %q, want "a raise is in effect"`, c.trigger, st.Disarmed)
		}
		p.hasMetric(3, "ullage_trigger_missed_total", c.reason) // two of them before the raise began
	}
}

// takeAlarm handles an alarm as Run does.
func takeAlarm(t *testing.T, p *process) {
	t.Helper()
	select {
	case a := <-p.triggers.Fired():
		p.alarm = &a
		if err := p.update(t.Context(), nil); err != nil {
			t.Error(err)
		}
	default:
		t.Fatal("no trigger fired")
	}
}

func TestATriggerIsArmedOnlyWhenAllIsReadAndAfterTheCoolDown(t *testing.T) {
	r, j := alone(t)
	r.cfg.TriggerCooldown = time.Second
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug", "trigger-for", "1s")
	p := r.process()
	p.run()
	within(t, patience, "the trigger is armed", func() bool { return p.Status().Armed })
	fire(p, dropLine)
	briefly(t, j, fakejvm.Atop("gc*=debug"))
	soon(t, patience, j, fakejvm.OwnSelection)
	restored := time.Now()
	p.triggers.CaughtUp() // this call comes before the Set waits for it, so it has no effect
	within(t, patience, "the Set waits for the reader", func() bool { return p.triggers.Waiting() })
	if waited := time.Since(restored); waited < plan.TrailTime-pollInterval {
		t.Errorf("the Set waited for the reader only %s after the restore, want at least %s", waited, plan.TrailTime-pollInterval)
	}
	if st := p.Status(); st.Armed || st.Disarmed != whyUnread {
		t.Errorf("before everything has been read, the status is %+v, want the trigger disarmed because of %q", st, whyUnread)
	}
	fire(p, dropLine)
	read := time.Now()
	p.triggers.CaughtUp()
	within(t, patience, "the trigger cools down", func() bool { return p.Status().Disarmed == whyCooling })
	if fire(p, dropLine); p.Status().Armed || p.Status().Quiet.Before(read.Add(r.cfg.TriggerCooldown)) {
		t.Errorf("everything was read at %s, and the status is %+v, want the trigger disarmed and quiet for at least %s from then", read, p.Status(), r.cfg.TriggerCooldown)
	}
	within(t, patience, "the trigger is armed again", func() bool { return p.Status().Armed })
	if after := time.Since(read); after < r.cfg.TriggerCooldown {
		t.Errorf("the trigger was armed %s after everything had been read, want at least %s", after, r.cfg.TriggerCooldown)
	}
	p.hasMetric(2, "ullage_trigger_missed_total", ask.DroppedCondition)
	logs(t, j, fakejvm.OwnSelection)
	fire(p, dropLine)
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the second raise is counted", func() bool { return p.metric("ullage_level_raises_total", ask.DroppedCondition) == 2 })
}

// A JVM that is short of CPU time takes longer to answer than the shortest raise lasts. The trigger has fired and does
// not fire again until the cool-down is over, so the time of the raise must begin only with the answer.
func TestATriggersRaiseLastsItsTimeFromWhenASlowJVMTakesIt(t *testing.T) {
	r, j := alone(t)
	r.cfg.TriggerCooldown = time.Hour
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug", "trigger-for", "1s")
	var taken time.Time
	j.When(func(cmd string) fakejvm.Reaction {
		if time.Sleep(1500 * time.Millisecond); strings.HasPrefix(cmd, fakejvm.Configuring) && taken.IsZero() {
			taken = time.Now()
		}
		return fakejvm.Obey
	})
	p := r.process()
	p.run()
	within(t, patience, "the trigger is armed", func() bool { return p.Status().Armed })
	fire(p, dropLine)
	within(t, patience, "the raise is counted", func() bool { return p.metric("ullage_level_raises_total", ask.DroppedCondition) == 1 })
	within(t, patience, "the raise is over", func() bool { return p.Status().Cause == "" })
	if lasted := time.Since(taken); lasted < time.Second {
		t.Errorf("the raise was over only %s after the JVM had taken it, want at least %s", lasted, time.Second)
	}
	soon(t, patience, j, fakejvm.OwnSelection)
}

func TestATriggersRaiseWaitsForAJVMThatDoesNotAnswerYet(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped", "trigger-for", "1s")
	p := r.process()
	p.step()
	ctx, cancel := context.WithCancel(t.Context())
	defer p.runner.work.Wait()
	defer cancel()
	j.When(fakejvm.Always(fakejvm.Hang))
	fire(p, dropLine)
	a := <-p.triggers.Fired()
	p.alarm = &a
	since := func() time.Time {
		must(t, p.update(ctx, nil))
		return p.plan.State.Raises[plan.FromTrigger].Since
	}
	first := since()
	second := since()
	if !second.After(first) {
		t.Errorf("the waiting raise now begins at %s and began at %s before, want its beginning to move forward", second, first)
	}
}

// A command's raise disarms the triggers at once, not at the next poll of the annotations: the first lines of the raise
// may meet a condition.
func TestACommandDisarmsATriggerBeforeItRaises(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped")
	p := r.process()
	p.step()
	armed := true
	j.When(func(cmd string) fakejvm.Reaction {
		if strings.HasPrefix(cmd, fakejvm.Configuring) {
			armed = p.Status().Armed
		}
		return fakejvm.Obey
	})
	if _, _, err := p.set("gc*=debug", time.Hour); err != nil || armed {
		t.Errorf("the trigger was armed when the JVM was raised: %v; error %v; want false and no error", armed, err)
	}
}

func TestAnyRaiseDisarmsATrigger(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped")
	p := r.process()
	p.step()
	r.annotate("trigger", "dropped", "log", "gc*=debug")
	p.step()
	if fire(p, dropLine); p.Status().Armed || len(p.triggers.Fired()) != 0 {
		t.Error("the trigger is armed or fired while a raise is in effect, want neither")
	}
	r.annotate("trigger", "dropped")
	p.step()
	logs(t, j, fakejvm.OwnSelection)
	if p.step(); p.Status().Armed || !p.Status().Quiet.After(time.Now()) {
		t.Errorf("after the restore the status is %+v, want the trigger to cool down", p.Status())
	}
}

// A kill at any moment between the raise and the end of the cool-down does not shorten the
// cool-down.
func TestARestartKeepsTheCoolDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.jvm(1)
	r.cfg.TriggerCooldown = time.Hour
	r.annotate("trigger", "dropped", "trigger-for", "1h")
	p := r.process()
	p.step()
	fire(p, dropLine)
	takeAlarm(t, p)
	if _, err := p.reset(); err != nil {
		t.Error(err)
	}
	p.kill() // before everything has been read
	p = r.process()
	p.triggers.Unread()
	over := time.Now().Add(plan.TrailTime)
	within(t, patience, "the reader is asked", func() bool { p.step(); return p.triggers.Waiting() })
	if time.Now().Before(over.Add(-pollInterval)) {
		t.Error("the reader was asked while lines of the raise might still come, want it asked later")
	}
	if st := p.Status(); st.Armed || st.Disarmed != whyUnread || st.Cause != "" {
		t.Errorf("after the first restart the status is %+v, want no raise, and the trigger disarmed because of %q", st, whyUnread)
	}
	p.triggers.CaughtUp()
	p.step()
	p.step() // saves the state
	quiet := p.Status().Quiet
	if left := time.Until(quiet); left < 59*time.Minute || left > time.Hour {
		t.Errorf("the cool-down lasts another %s, want at least 59 min and at most 1 h", left)
	}
	p.kill()
	p = r.process()
	for range 3 {
		p.step()
	}
	if st := p.Status(); st.Armed || !st.Quiet.Equal(quiet) || st.Cause != "" || st.Disarmed != whyCooling {
		t.Errorf("after the second restart the status is %+v, want a cool-down until %s", st, quiet)
	}
}

// A raise that no trigger asked for has no cool-down.
func TestAnotherRaiseHasNoCoolDown(t *testing.T) {
	r, j := alone(t)
	r.cfg.TriggerCooldown = time.Hour
	r.annotate("trigger", "dropped", "log", "gc*=debug")
	p := r.process()
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	r.annotate("trigger", "dropped")
	within(t, patience, "the reader is asked", func() bool { return p.triggers.Waiting() })
	p.triggers.CaughtUp()
	within(t, patience, "the trigger is armed", func() bool { return p.Status().Armed })
}

func TestATriggerWithoutAttachIsShownAsOneThatNeverFires(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Mode = attach.Off
	r.annotate("trigger", "dropped")
	p := r.process()
	stop := p.run()
	within(t, patience, "the status shows the trigger", func() bool { return p.Status().Trigger == "dropped" })
	if st := p.Status(); st.Armed || !st.Off || !strings.Contains(st.Never, "--attach is off") {
		t.Errorf(`the status is %+v, want Armed false, Off true and "--attach is off" in Never`, st)
	}
	r.annotate()
	within(t, patience, "the status shows no trigger", func() bool { return p.Status().Trigger == "" })
	must(t, stop())
}

func TestABadTriggerKeepsTheOldOne(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped", "trigger-log", "gc*=debug", "trigger-for", "1h")
	p := r.process()
	p.step()
	r.annotate("trigger", "droped", "trigger-log", "safepoint*=debug", "trigger-for", "1m")
	p.step()
	if st := p.Status(); !st.Armed || st.Trigger != "dropped" || len(st.Problems) != 1 {
		t.Errorf(`the status is %+v, want Armed true, Trigger "dropped" and 1 problem`, st)
	}
	fire(p, dropLine)
	takeAlarm(t, p)
	logs(t, j, fakejvm.Atop("gc*=debug"))
	p.step()
	if st := p.Status(); st.Cause != plan.FromTrigger || st.Raise.Until.Sub(st.Raise.Since) != time.Hour {
		t.Errorf("the status is %+v, want a raise by the trigger for %s", st, time.Hour)
	}
	r.restored(p, j)
	if st := p.Status(); st.Armed || st.Trigger != "" || len(st.Problems) != 0 {
		t.Errorf("without an annotation the status is %+v, want no trigger and no problem", st)
	}
	p.log.says(t, 1, "the trigger is gone")
}

func TestATriggerThatWasTakenAwayMeanwhileRaisesNothing(t *testing.T) {
	r, j := alone(t)
	r.annotate("trigger", "dropped")
	p := r.process()
	p.step()
	fire(p, dropLine)
	r.annotate()
	p.notes.poll(time.Now())
	takeAlarm(t, p)
	p.step()
	if p.Status().Cause != "" || j.Count() != 0 {
		t.Errorf(`the status is %+v; the JVM was sent %q; want Cause "" and no command`, p.Status(), j.Sent(0))
	}
}
