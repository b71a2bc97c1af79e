package levels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/selection"
)

const (
	// updatePatience is how long an update waits for the JVMs. One that takes longer
	// is left to itself, and holds up no other and no further update.
	updatePatience = 500 * time.Millisecond

	// perTask is how many times the time of one command a JVM may take for all
	// that it is sent at once.
	perTask = 2
)

// fleet is the JVMs of the source: what they had before, what they have, and
// what is under way to them. One goroutine uses it; what a task finds out is
// taken in by that one when the task has landed.
type fleet struct {
	talk    dialogue
	log     *slog.Logger
	metrics metrics
	store   *store
	state   *state

	jvms     []attach.JVM         // those that the last look found
	problems []error              // of that look
	attempts map[string]attempt   // by JVM ID: those that failed last
	seen     map[string]time.Time // by JVM ID: when it was last found
	ended    map[string]bool      // JVMs found to have ended while raised, since the last report of changes

	flying   map[string]*task // by JVM ID: those under way
	landing  chan struct{}    // one of them has landed
	crew     sync.WaitGroup   // of them
	draining bool             // nothing is wanted but each JVM's own level
}

// reconcile brings the JVMs in line with what is wanted. It costs nothing when
// nothing is raised and nothing is to be; a JVM that is in line is sent nothing.
// What a restart needs to undo a raise is saved before the JVM is sent the raise.
func (f *fleet) reconcile(ctx context.Context, now time.Time) error {
	want, err := f.goal(now)
	if err != nil {
		return err
	}
	if want.sel.IsZero() && len(f.state.JVMs)+len(f.flying) == 0 {
		f.jvms, f.problems, f.attempts = nil, nil, map[string]attempt{}
		return nil
	}
	f.find(ctx, now)
	var bad []error
	failed := map[string]bool{} // in this reconcile
	for deadline := time.After(updatePatience); ; {
		bad = append(bad, f.collect(now, failed)...)
		if ctx.Err() == nil {
			bad = append(bad, f.dispatch(ctx, f.plan(want, now, failed))...)
		}
		if len(f.flying) == 0 || !f.await(ctx, deadline) {
			break
		}
	}
	f.prune()
	return errors.Join(bad...)
}

// goal is the selection that is wanted of every JVM; none is the JVM's own.
type goal struct {
	sel  selection.Selection
	from Cause
}

func (f *fleet) goal(now time.Time) (goal, error) {
	cause, r, on := f.state.wanted(now)
	if !on || f.draining {
		return goal{}, nil
	}
	sel, err := selection.Parse(r.Selection)
	if err != nil { // it was parsed before
		return goal{}, fmt.Errorf("read the wanted selection: %w", err)
	}
	return goal{sel, cause}, nil
}

// find looks for the JVMs, and forgets those that have ended for sure. One that
// only cannot be found keeps its baseline: its socket or its log may have been
// taken away.
func (f *fleet) find(ctx context.Context, now time.Time) {
	f.jvms, f.problems = f.talk.client.Find(ctx, slices.Collect(maps.Keys(f.state.JVMs))...)
	for _, j := range f.jvms {
		f.seen[j.ID] = now
	}
	for id := range f.state.JVMs {
		if attach.Ended(id) {
			f.forget(id)
		}
	}
}

// forget removes the baseline of a JVM that has ended.
func (f *fleet) forget(id string) {
	b, ok := f.state.JVMs[id]
	if !ok {
		return
	}
	if b.Applied != "" {
		f.log.Info("JVM ended while its log level was raised", "pid", b.PID, "raised_to", b.Applied)
	}
	f.ended[id] = true
	delete(f.state.JVMs, id)
	delete(f.seen, id)
}

// prune forgets baselines beyond maxJVMs, the number that parseState accepts. It
// keeps those of the JVMs that are found now, which are at most 16.
func (f *fleet) prune() {
	var gone []string
	for id := range f.state.JVMs {
		if !f.found(id) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return f.seen[a].Compare(f.seen[b]) })
	for len(f.state.JVMs) > maxJVMs {
		f.forget(gone[0])
		gone = gone[1:]
	}
	maps.DeleteFunc(f.seen, func(id string, _ time.Time) bool { return f.state.JVMs[id] == nil })
}

func (f *fleet) found(id string) bool {
	return slices.ContainsFunc(f.jvms, func(j attach.JVM) bool { return j.ID == id })
}

// ours counts the JVMs that were found and whose baseline we keep.
func (f *fleet) ours() (n int) {
	for _, j := range f.jvms {
		if f.state.JVMs[j.ID] != nil {
			n++
		}
	}
	return n
}

// nobody returns an error with the reasons if there is no JVM to raise. Hint is put
// before the reason where no JVM was found at all.
func (f *fleet) nobody(hint string) error {
	if f.ours()+len(f.flying) > 0 {
		return nil
	}
	var why []error
	for _, a := range f.attempts {
		why = append(why, a.err)
	}
	if why = append(why, f.problems...); len(why) > 0 {
		return errors.Join(why...)
	}
	return errors.New(hint + f.talk.noJVM())
}
