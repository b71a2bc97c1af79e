package levels

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
)

const (
	// updatePatience is how long an update waits for the JVMs. A slower JVM
	// continues in the background, and delays neither other JVMs nor later
	// updates.
	updatePatience = 500 * time.Millisecond

	// findInterval is how often the Loop looks for JVMs while something is
	// raised.
	findInterval = time.Second

	// perTask bounds the time of a task, in timeouts of a single command.
	perTask = 2
)

// answered returns after which time each JVM has answered or will not: what takes longer is not
// waited for.
func (c Config) answered() time.Duration { return perTask*c.Attach.Timeout + findInterval }

// fleet holds the JVMs of the source: their baselines, their current
// selections, and the tasks under way. One goroutine uses the fleet, and
// collects the result of a task when the task has landed.
type fleet struct {
	talk    outputs.Talk
	timeout time.Duration // of a command to a JVM
	log     *slog.Logger
	metrics metrics
	store   *store
	state   *state

	jvms     []attach.JVM         // the JVMs found by the last look
	stale    bool                 // the last look found sockets that killed JVMs have left
	problems []error              // the errors of the last look
	attempts map[string]attempt   // by JVM ID: the last attempts that failed
	seen     map[string]time.Time // by JVM ID: when it was last found
	ended    map[string]bool      // JVMs that ended while raised, since the last report of changes

	awaited time.Time // until then the trigger's raise waits for its first JVM; zero: it does not wait

	flying   map[string]*task // by JVM ID: the tasks under way
	landing  chan struct{}    // a task has landed
	crew     sync.WaitGroup   // the goroutines of the tasks
	draining bool             // every JVM is to have its own level
}

// reconcile brings the JVMs to the wanted selection. It does no work if nothing
// is raised and no raise is wanted, and sends nothing to a JVM that already has
// the wanted selection. Before it sends a raise to a JVM, it saves what a
// restart needs to undo that raise.
func (f *fleet) reconcile(ctx context.Context, now time.Time) error {
	want := f.goal(now)
	if want.IsZero() && len(f.state.JVMs)+len(f.flying) == 0 {
		f.jvms, f.stale, f.problems, f.attempts = nil, false, nil, map[string]attempt{}
		return nil
	}
	f.find(ctx, now)
	var bad []error
	failed := map[string]bool{} // the JVMs whose tasks failed in this reconcile
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

// goal returns what is wanted of every JVM.
func (f *fleet) goal(now time.Time) goal {
	cause, r, on := f.state.wanted(now)
	if !on || f.draining {
		return goal{}
	}
	return goal{r.Raise, cause}
}

// find looks for the JVMs and forgets the ones that have certainly ended: also one that
// is known by its socket alone, on which nobody listens any more. A JVM that merely was
// not found keeps its baseline: its socket or its log may have been removed.
func (f *fleet) find(ctx context.Context, now time.Time) {
	found := f.talk.JVMs.Survey(ctx, slices.Collect(maps.Keys(f.state.JVMs))...)
	f.jvms, f.stale, f.problems = found.JVMs, len(found.Stale) > 0, found.Problems
	for _, j := range found.Stale {
		f.forget(j.ID)
	}
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
	if !b.Applied.IsZero() {
		f.log.Info("JVM ended while its log level was raised", "pid", b.PID, "raised_to", b.Applied)
	}
	f.ended[id] = true
	delete(f.state.JVMs, id)
	delete(f.seen, id)
}

// prune forgets baselines beyond maxJVMs, the most that parseState accepts. It
// keeps the baselines of the JVMs found now, at most 16.
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

// ours counts the JVMs found now that have a baseline.
func (f *fleet) ours() (n int) {
	for _, j := range f.jvms {
		if f.state.JVMs[j.ID] != nil {
			n++
		}
	}
	return n
}

// renew has the trigger's raise begin now, while it waits for the answer of a JVM and when the
// first JVM has taken it. A JVM that is short of CPU time may answer later than the raise lasts,
// and the trigger would not fire again before its cool-down is over. A JVM that never answers
// keeps the raise only until awaited, and no restart prolongs the raise.
func (f *fleet) renew(now time.Time) {
	r, ok := f.state.Raises[FromTrigger]
	taken := f.took(FromTrigger, r)
	if !ok || r.Ended != "" || !now.Before(f.awaited) || !taken && len(f.flying) == 0 {
		return
	}
	r.begin(now)
	f.state.Raises[FromTrigger] = r
	if taken {
		f.awaited = time.Time{}
	}
}

// took reports whether one of the JVMs found now has the raise of a cause.
func (f *fleet) took(cause Cause, r Raise) bool {
	return slices.ContainsFunc(f.jvms, func(j attach.JVM) bool {
		b := f.state.JVMs[j.ID]
		return b != nil && b.Cause == cause && b.Applied == r.Selection
	})
}

// nobody returns an error with the reasons if there is no JVM to raise. If no
// JVM was found at all, the reason begins with hint.
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
	text := hint + f.talk.NoJVM()
	if f.stale {
		text += "; no process listens on the sockets left there"
	}
	return errors.New(text)
}
