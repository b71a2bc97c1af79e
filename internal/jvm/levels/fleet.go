package levels

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
)

const (
	// updatePatience is how long an update waits for the JVMs. A slower JVM
	// continues in the background, and delays neither other JVMs nor later
	// updates.
	updatePatience = 500 * time.Millisecond

	// findInterval is how often the Loop looks for JVMs while something is
	// raised.
	findInterval = time.Second
)

// answered returns after which time each JVM has answered or will not: what takes longer is not
// waited for.
func answered(timeout time.Duration) time.Duration { return control.PerTask*timeout + findInterval }

// fleet carries out the tasks of a plan. One goroutine uses the fleet, and
// collects the result of a task when the task has landed.
type fleet struct {
	plan    *plan.Plan
	file    *plan.File
	talk    outputs.Talk
	timeout time.Duration // of a command to a JVM
	metrics metrics

	flying  map[string]*flight // by JVM ID: the tasks under way
	landing chan struct{}      // a task has landed
	crew    sync.WaitGroup     // the goroutines of the tasks
}

// flight is a task under way.
type flight struct {
	*plan.Task
	landed chan struct{} // closed when the task ends
}

// reconcile brings the JVMs to the wanted selection. It does no work if nothing
// is raised and no raise is wanted, and sends nothing to a JVM that already has
// the wanted selection. Before it sends a raise to a JVM, it saves what a
// restart needs to undo that raise.
func (f *fleet) reconcile(ctx context.Context, now time.Time) error {
	want := f.plan.Goal(now)
	if !f.busy() && f.plan.Rest(want) {
		return nil
	}
	f.plan.Look(f.talk.JVMs.Survey(ctx, slices.Collect(maps.Keys(f.plan.State.JVMs))...), now)
	var bad []error
	failed := map[string]bool{} // the JVMs whose tasks failed in this reconcile
	for deadline := time.After(updatePatience); ; {
		bad = append(bad, f.collect(now, failed)...)
		if ctx.Err() == nil {
			flying := func(id string) bool { return f.flying[id] != nil }
			bad = append(bad, f.dispatch(ctx, f.plan.Tasks(want, now, flying, failed))...)
		}
		if !f.busy() || !f.await(ctx, deadline) {
			break
		}
	}
	f.plan.Prune()
	return errors.Join(bad...)
}

// busy reports whether tasks are under way.
func (f *fleet) busy() bool { return len(f.flying) > 0 }

// dispatch starts the tasks. Before it sends anything to a JVM, it saves that
// the JVM's selection is uncertain.
func (f *fleet) dispatch(ctx context.Context, tasks []*plan.Task) (bad []error) {
	var unsaved error
	if f.plan.Doubt(tasks) {
		unsaved = f.file.Save(f.plan.State)
	}
	for _, t := range tasks {
		if f.plan.Depart(t, unsaved) {
			f.launch(ctx, t)
		} else if err := f.ended(t); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// launch starts a task. The task has landed when its channel is closed.
func (f *fleet) launch(ctx context.Context, t *plan.Task) {
	landed := make(chan struct{})
	f.flying[t.JVM.ID] = &flight{t, landed}
	ctx, cancel := context.WithTimeout(ctx, control.PerTask*f.timeout)
	f.crew.Go(func() {
		defer cancel()
		t.Err = bring(ctx, f.talk, t)
		close(landed)
		select {
		case f.landing <- struct{}{}:
		default: // a signal is pending already
		}
	})
}

// await waits until a task lands. It reports false if the update must go on
// without the remaining tasks. A drain waits for all tasks.
func (f *fleet) await(ctx context.Context, deadline <-chan time.Time) bool {
	if f.plan.Draining {
		deadline = nil // each task has its own deadline
	}
	select {
	case <-f.landing:
		return true
	case <-deadline:
		return false
	case <-ctx.Done():
		f.crew.Wait() // the tasks end with the context too
		return true
	}
}

// collect records the results of the tasks that have landed.
func (f *fleet) collect(now time.Time, failed map[string]bool) (bad []error) {
	for id, t := range f.flying {
		select {
		case <-t.landed:
		default:
			continue
		}
		delete(f.flying, id)
		f.plan.Arrive(t.Task, now)
		failed[id] = t.Err != nil
		if err := f.ended(t.Task); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// ended counts how a task ended, and returns the error to report.
func (f *fleet) ended(t *plan.Task) error {
	err := f.plan.Attempted(t)
	if t.Err != nil && !errors.Is(t.Err, context.Canceled) {
		f.metrics.attach.WithLabelValues(string(attach.KindOf(t.Err))).Inc()
	}
	if err != nil {
		op := opRaise
		if t.Want.IsZero() {
			op = opRestore
		}
		f.metrics.errors.WithLabelValues(op).Inc()
	}
	return err
}

// nobody returns an error with the reasons if there is no JVM to raise. If no
// JVM was found at all, the reason begins with hint.
func (f *fleet) nobody(hint string) error {
	if f.plan.Raised() > 0 || f.busy() {
		return nil
	}
	return f.plan.Nobody(hint + f.talk.NoJVM())
}
