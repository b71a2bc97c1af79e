package levels

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
)

const (
	// updatePatience is how long an update waits for the JVMs. The task of a slower JVM continues
	// in the background and delays neither other JVMs nor later updates.
	updatePatience = 500 * time.Millisecond

	// findInterval is how often the Loop looks for JVMs while something is
	// raised.
	findInterval = time.Second
)

// answered returns how long a request to change levels, or the raise of a trigger, waits for the JVMs.
// A JVM that has not answered by then will not answer.
func answered(timeout time.Duration) time.Duration { return control.PerTask*timeout + findInterval }

// runner carries out the tasks of a plan. One goroutine uses the runner and
// collects the result of a task when the task has ended.
type runner struct {
	plan    *plan.Plan
	file    *plan.File
	talk    outputs.Talk
	timeout time.Duration // of a command to a JVM
	metrics metrics

	running map[string]*running // by JVM ID: the tasks under way
	done    chan struct{}       // a task has ended
	work    sync.WaitGroup      // waits for the goroutines of the tasks
}

// running is a task under way.
type running struct {
	*plan.Task
	ended chan struct{} // closed when the task ends
}

// reconcile brings the JVMs to the wanted selection. It does no work if nothing is raised and no
// raise is wanted, and sends nothing to a JVM that already has the wanted selection. Before it
// sends a raise to a JVM, it saves what is needed to undo that raise after a restart.
func (r *runner) reconcile(ctx context.Context, now time.Time) error {
	want := r.plan.Goal(now)
	if !r.busy() && r.plan.Rest(want) {
		return nil
	}
	survey := r.talk.JVMs.Survey
	if r.plan.Adoption.On() {
		survey = r.talk.JVMs.SurveyAll
	}
	r.plan.Look(survey(ctx, r.plan.State.Known()...), now)
	var bad []error
	failed := map[string]bool{} // the JVMs whose tasks failed in this reconcile
	for deadline := time.After(updatePatience); ; {
		bad = append(bad, r.collect(now, failed)...)
		if ctx.Err() == nil {
			under := func(id string) bool { return r.running[id] != nil }
			bad = append(bad, r.dispatch(ctx, r.plan.Tasks(want, now, under, failed))...)
		}
		if !r.busy() || !r.await(ctx, deadline) {
			break
		}
	}
	r.plan.Prune()
	return errors.Join(bad...)
}

// busy reports whether tasks are under way.
func (r *runner) busy() bool { return len(r.running) > 0 }

// dispatch starts the tasks. Before it sends anything to a JVM, it saves that
// the JVM's selection is uncertain.
func (r *runner) dispatch(ctx context.Context, tasks []*plan.Task) (bad []error) {
	var unsaved error
	if r.plan.Doubt(tasks) {
		unsaved = r.file.Save(r.plan.State)
	}
	for _, t := range tasks {
		if r.plan.Begin(t, unsaved) {
			r.start(ctx, t)
		} else if err := r.ended(t); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// start starts a task. When the task ends, its channel is closed.
func (r *runner) start(ctx context.Context, t *plan.Task) {
	ended := make(chan struct{})
	r.running[t.JVM.ID] = &running{t, ended}
	ctx, cancel := context.WithTimeout(ctx, control.PerTask*r.timeout)
	r.work.Go(func() {
		defer cancel()
		t.Err = bring(ctx, r.talk, t)
		close(ended)
		select {
		case r.done <- struct{}{}:
		default: // a signal is pending already
		}
	})
}

// await waits until a task ends. It returns false if the update must continue without the remaining
// tasks. A drain waits for all tasks.
func (r *runner) await(ctx context.Context, deadline <-chan time.Time) bool {
	if r.plan.Draining {
		deadline = nil // each task has its own deadline
	}
	select {
	case <-r.done:
		return true
	case <-deadline:
		return false
	case <-ctx.Done():
		r.work.Wait() // the tasks end when the context ends, too
		return true
	}
}

// collect records the results of the tasks that have ended.
func (r *runner) collect(now time.Time, failed map[string]bool) (bad []error) {
	for id, t := range r.running {
		select {
		case <-t.ended:
		default:
			continue
		}
		delete(r.running, id)
		r.plan.Record(t.Task, now)
		failed[id] = t.Err != nil
		if err := r.ended(t.Task); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// ended counts the error of a task that has ended and returns the error to report.
func (r *runner) ended(t *plan.Task) error {
	err := r.plan.Attempted(t)
	if t.Err != nil && !errors.Is(t.Err, context.Canceled) {
		r.metrics.attach.WithLabelValues(string(attach.KindOf(t.Err))).Inc()
	}
	if err != nil {
		op := opRaise
		switch {
		case t.Step == plan.Take:
			op = opRelease
		case t.Step != plan.Level:
			op = opAdopt
		case t.Want.IsZero():
			op = opRestore
		}
		r.metrics.errors.WithLabelValues(op).Inc()
	}
	return err
}

// noneToRaise returns an error with the reasons if no JVM can be raised. If no JVM was found at
// all, the reason begins with hint.
func (r *runner) noneToRaise(hint string) error {
	if r.plan.Raised() > 0 || r.busy() {
		return nil
	}
	return r.plan.NoneToRaise(hint + r.talk.NoJVM())
}
