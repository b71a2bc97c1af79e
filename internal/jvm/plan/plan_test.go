package plan

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raiseTo returns a raise of every output whose lines show their level.
func raiseTo(t testing.TB, selection string, lasts time.Duration) ask.Raise {
	t.Helper()
	sel, err := ask.ParseSelection(selection)
	must(t, err)
	return ask.Raise{Selection: sel, For: lasts}
}

// newPlan returns a Plan that has found one JVM, whose outputs are shipped.
func newPlan(now time.Time) (*Plan, attach.JVM) {
	p := New(func(attach.JVM, attach.Output) bool { return true }, slog.New(slog.DiscardHandler))
	j := attach.JVM{ID: "25:7:1795248000000000000", PID: 7}
	p.Look(attach.Found{JVMs: []attach.JVM{j}}, now)
	return p, j
}

var shippedOutput = attach.Output{Index: 2, Name: "file=/l/gc.log", Selection: "all=off,gc*=info", Decorators: "uptime,level,tags", Options: "filecount=5"}

func nobodyBusy(string) bool { return false }

// one returns the task that is due. It fails the test unless exactly one task is due.
func one(t *testing.T, p *Plan, now time.Time) *Task {
	t.Helper()
	tasks := p.Tasks(p.Goal(now), now, nobodyBusy, nil)
	if len(tasks) != 1 {
		t.Fatalf("%d tasks are due, want 1", len(tasks))
	}
	return tasks[0]
}

// arrive records the result of a task and the end of its attempt.
func arrive(t *testing.T, p *Plan, task *Task, now time.Time) {
	t.Helper()
	p.Record(task, now)
	must(t, p.Attempted(task))
}

// A raise reads the baseline, makes the caller save it, and then sends the raise. At the end of the
// raise, the JVM's own selection is sent and the baseline is forgotten.
func TestTheTasksOfARaiseAndItsRestore(t *testing.T) {
	now := halfPastEight
	p, j := newPlan(now)
	if got := p.Tasks(p.Goal(now), now, nobodyBusy, nil); len(got) > 0 || !p.Rest(p.Goal(now)) {
		t.Fatalf("%d tasks are due while nothing is wanted, want none, and the Plan at rest", len(got))
	}
	p.Look(attach.Found{JVMs: []attach.JVM{j}}, now)
	p.Annotate(ask.Request{Log: raiseTo(t, "gc*=debug", time.Hour)}, true, now)
	read := one(t, p, now)
	if read.Outputs != nil || p.Doubt([]*Task{read}) || !p.Begin(read, nil) {
		t.Errorf("the first task is %+v, want one that only reads", read)
	}
	read.Listed, read.Chosen = []attach.Output{shippedOutput}, []attach.Output{shippedOutput}
	arrive(t, p, read, now)
	raise := one(t, p, now)
	if len(raise.Outputs) != 1 || raise.Want.String() != "gc*=debug" || raise.Unsure || !p.Doubt([]*Task{raise}) || !p.Begin(raise, nil) {
		t.Errorf("the second task is %+v, want a raise that is saved first", raise)
	}
	if b := p.State.JVMs[j.ID]; b == nil || !b.Unsure {
		t.Errorf("while the raise is under way, the baseline is %+v, want it unsure", b)
	}
	raise.Applied = true
	arrive(t, p, raise, now)
	if got := p.Tasks(p.Goal(now), now, nobodyBusy, nil); len(got) > 0 || p.Raised() != 1 {
		t.Errorf("%d tasks are due after the raise, want none, and 1 raised JVM", len(got))
	}
	p.Annotate(ask.Request{}, true, now)
	restore := one(t, p, now)
	if !restore.Want.IsZero() || restore.Before.String() != "gc*=debug" || !p.Doubt([]*Task{restore}) || !p.Begin(restore, nil) {
		t.Errorf("the last task is %+v, want a restore", restore)
	}
	restore.Restored = true
	if arrive(t, p, restore, now); len(p.State.JVMs) > 0 || !p.State.Quiet.Equal(now.Add(TrailTime)) {
		t.Errorf("after the restore, the state is %+v, want no JVM and quiet until %s", p.State, now.Add(TrailTime))
	}
}

// A JVM is not changed if the change could not be undone after a crash.
func TestAJVMWhoseBaselineCannotBeSavedIsNotRaised(t *testing.T) {
	now := halfPastEight
	p, _ := newPlan(now)
	p.Annotate(ask.Request{Log: raiseTo(t, "gc*=debug", time.Hour)}, true, now)
	read := one(t, p, now)
	read.Listed, read.Chosen = []attach.Output{shippedOutput}, []attach.Output{shippedOutput}
	arrive(t, p, read, now)
	raise := one(t, p, now)
	p.Doubt([]*Task{raise})
	if p.Begin(raise, errors.New("the disk is full")) || raise.Err == nil || len(p.State.JVMs) > 0 {
		t.Errorf("the task is %+v, the state %+v; want an error and no baseline", raise, p.State)
	}
}

// A JVM that does not answer prolongs the trigger's raise at most by the time limit for an answer.
func TestATriggersRaiseDoesNotWaitForADeafJVMForever(t *testing.T) {
	now := halfPastEight
	p, _ := newPlan(now)
	p.Alarm(raiseTo(t, "gc*=debug", time.Minute), ask.DroppedCondition, "lines", now, now.Add(11*time.Second))
	for _, c := range []struct{ passed, began time.Duration }{{0, 0}, {5 * time.Second, 5 * time.Second}, {11 * time.Second, 5 * time.Second}, {time.Minute, 5 * time.Second}} {
		p.Renew(true, now.Add(c.passed))
		if since := p.State.Raises[FromTrigger].Since; !since.Equal(now.Add(c.began)) {
			t.Errorf("after %s the raise began %s after the alarm, want %s", c.passed, since.Sub(now), c.began)
		}
	}
}
