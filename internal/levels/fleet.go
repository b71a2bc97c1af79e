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
	sel  attach.Selection
	from Cause
}

func (f *fleet) goal(now time.Time) (goal, error) {
	cause, r, on := f.state.wanted(now)
	if !on || f.draining {
		return goal{}, nil
	}
	sel, err := attach.ParseSelection(r.Selection)
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
		f.log.Info("a JVM has ended while its log level was raised", "pid", b.PID, "raised to", b.Applied)
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

// plan returns the JVMs that are not as they should be, and may be tried.
func (f *fleet) plan(want goal, now time.Time, failed map[string]bool) []*task {
	var tasks []*task
	attempts := map[string]attempt{} // those of JVMs that are gone are dropped
	for _, j := range f.jvms {
		a, tried := f.attempts[j.ID]
		if tried = tried && a.wanted == want.sel.String(); tried {
			attempts[j.ID] = a
		}
		b := f.state.JVMs[j.ID]
		if b != nil && want.sel.IsZero() && b.Applied == "" && !b.Unsure {
			delete(f.state.JVMs, j.ID) // it was sent nothing
			continue
		}
		t := &task{jvm: j, want: want.sel, from: want.from, wanted: want.sel.String()}
		if tried && a.refusal != nil {
			if b == nil || !b.Unsure {
				continue
			}
			t.want, t.from = b.before(), b.Cause // it could not be taken back yet
		}
		inLine := b == nil && t.want.IsZero() || b != nil && !t.want.IsZero() && b.Applied == t.want.String() && !b.Unsure
		if inLine || f.flying[j.ID] != nil || failed[j.ID] || tried && !f.draining && now.Before(a.next) {
			continue
		}
		if b != nil {
			// What was read back may name what is not ours.
			b.Outputs = slices.DeleteFunc(slices.Clone(b.Outputs), func(o attach.Output) bool { return !f.talk.ships(j, o) })
			if len(b.Outputs) == 0 {
				delete(f.state.JVMs, j.ID)
				continue
			}
			t.outputs, t.before, t.unsure = b.Outputs, b.before(), b.Unsure
		}
		tasks = append(tasks, t)
	}
	f.attempts = attempts
	return tasks
}

// before is what the JVM has, as far as we know.
func (b *baseline) before() attach.Selection {
	sel, err := attach.ParseSelection(b.Applied)
	if err != nil {
		return attach.Selection{}
	}
	return sel
}

// dispatch lets the tasks begin. That the JVMs are sent something is saved
// before: a process that finds that later takes nothing for granted. A JVM
// whose baseline cannot be saved is not raised; where it is saved, a tmpfs
// without room keeps nobody from raising it further, or from restoring it.
func (f *fleet) dispatch(ctx context.Context, tasks []*task) (bad []error) {
	note := false
	for _, t := range tasks {
		if b := f.state.JVMs[t.jvm.ID]; b != nil && (!b.Unsure || !b.kept) {
			b.Unsure, note = true, true
		}
	}
	var unsaved error
	if note {
		unsaved = f.store.save(f.state)
	}
	for _, t := range tasks {
		b := f.state.JVMs[t.jvm.ID]
		if b != nil && !b.kept && unsaved != nil {
			delete(f.state.JVMs, t.jvm.ID)
			t.err = fmt.Errorf("raise nothing, since its baseline cannot be kept: %w", unsaved)
			bad = append(bad, f.attempted(t))
			continue
		}
		if b != nil {
			b.kept = true
		}
		f.launch(ctx, t)
	}
	return bad
}

// launch begins a task. It has landed when its channel is closed.
func (f *fleet) launch(ctx context.Context, t *task) {
	t.landed = make(chan struct{})
	f.flying[t.jvm.ID] = t
	ctx, cancel := context.WithTimeout(ctx, perTask*f.talk.cfg.Attach.Timeout)
	f.crew.Go(func() {
		defer cancel()
		t.err = f.talk.bring(ctx, t)
		close(t.landed)
		select {
		case f.landing <- struct{}{}:
		default: // one is on its way
		}
	})
}

// await waits until a task lands. It reports false when it is time to go on
// without the others. A drain waits for all of them.
func (f *fleet) await(ctx context.Context, deadline <-chan time.Time) bool {
	if f.draining {
		deadline = nil // each task has one of its own
	}
	select {
	case <-f.landing:
		return true
	case <-deadline:
		return false
	case <-ctx.Done():
		f.crew.Wait() // they end with the context, too
		return true
	}
}

// collect takes in what became of the tasks that have landed.
func (f *fleet) collect(now time.Time, failed map[string]bool) (bad []error) {
	for id, t := range f.flying {
		select {
		case <-t.landed:
		default:
			continue
		}
		delete(f.flying, id)
		f.takeIn(t, now)
		failed[id] = t.err != nil
		if err := f.attempted(t); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// takeIn notes what a JVM has now.
func (f *fleet) takeIn(t *task, now time.Time) {
	id := t.jvm.ID
	b := f.state.JVMs[id]
	switch {
	case t.learned != nil:
		f.adopt(t)
		return
	case b == nil:
		return
	}
	if len(t.outputs) < len(b.Outputs) { // the others are not there, or not ours
		b.Outputs = t.outputs
	}
	switch {
	case t.restored:
		delete(f.state.JVMs, id)
		f.state.Quiet = later(f.state.Quiet, now.Add(trailTime))
	case t.applied:
		b.Applied, b.Cause, b.Unsure = t.want.String(), t.from, false
	case t.undone:
		b.Unsure = false
	}
}

// adopt keeps a baseline that was just read. A JVM that has made its socket
// again looks like another one: what it lists is then not its own selection but
// what it was raised to, and its baseline is the one that is kept already. A JVM
// that has been started since lists nothing as reconfigured.
func (f *fleet) adopt(t *task) {
	is := t.learned
	for id, was := range f.state.JVMs {
		if was.PID != is.PID || f.found(id) {
			continue
		}
		if same := slices.EqualFunc(was.Outputs, is.Outputs, func(a, b attach.Output) bool { return a.Name == b.Name && b.Reconfigured }); same {
			is.Outputs, is.Applied, is.Cause, is.Unsure = was.Outputs, was.Applied, was.Cause, true
			delete(f.state.JVMs, id)
		} else {
			f.forget(id)
		}
	}
	f.state.JVMs[t.jvm.ID] = is
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
