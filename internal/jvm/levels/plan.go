package levels

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// plan returns tasks for the JVMs that differ from what is wanted and are due
// for an attempt.
func (f *fleet) plan(want goal, now time.Time, failed map[string]bool) []*task {
	var tasks []*task
	attempts := map[string]attempt{} // without those of JVMs that have ended
	for _, j := range f.jvms {
		a, tried := f.attempts[j.ID]
		if tried = tried && a.wanted.same(want); tried {
			attempts[j.ID] = a
		}
		b := f.state.JVMs[j.ID]
		moved := b != nil && b.Stream != want.Stream
		if b != nil && (want.IsZero() || moved) && b.Applied.IsZero() && !b.Unsure {
			delete(f.state.JVMs, j.ID) // the JVM was sent nothing
			b, moved = nil, false
		}
		t := &task{jvm: j, want: want.Selection, from: want.from, wanted: want}
		switch {
		case moved:
			// A raise of other streams begins with the JVM's own level: what the
			// baseline does not name would stay raised.
			t.want, t.from = ask.Selection{}, ""
		case tried && a.refusal != nil:
			if b == nil || !b.Unsure {
				continue
			}
			t.want, t.from = b.Applied, b.Cause // the refused selection is not undone yet
		}
		inLine := b == nil && t.want.IsZero() || b != nil && !t.want.IsZero() && b.Applied == t.want && !b.Unsure
		if inLine || f.flying[j.ID] != nil || failed[j.ID] || tried && !f.draining && now.Before(a.next) {
			continue
		}
		if b != nil {
			// A state that was read back may name outputs that are not shipped.
			b.Outputs = slices.DeleteFunc(slices.Clone(b.Outputs), func(o attach.Output) bool { return !f.talk.Ships(j, o) })
			if len(b.Outputs) == 0 {
				delete(f.state.JVMs, j.ID)
				continue
			}
			t.outputs, t.before, t.unsure = b.Outputs, b.Applied, b.Unsure
		}
		tasks = append(tasks, t)
	}
	f.attempts = attempts
	return tasks
}

// dispatch starts the tasks. Before it sends anything to a JVM, it saves that
// the JVM's selection is uncertain, so that a later process verifies it. A JVM
// whose baseline cannot be saved is not raised. Once the baseline is saved, a
// full tmpfs prevents neither further raises nor the restore.
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
			t.err = fmt.Errorf("not raised, because its baseline cannot be saved: %w", unsaved)
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

// launch starts a task. The task has landed when its channel is closed.
func (f *fleet) launch(ctx context.Context, t *task) {
	t.landed = make(chan struct{})
	f.flying[t.jvm.ID] = t
	ctx, cancel := context.WithTimeout(ctx, perTask*f.timeout)
	f.crew.Go(func() {
		defer cancel()
		t.err = bring(ctx, f.talk, t)
		close(t.landed)
		select {
		case f.landing <- struct{}{}:
		default: // a signal is pending already
		}
	})
}

// await waits until a task lands. It reports false if the update must go on
// without the remaining tasks. A drain waits for all tasks.
func (f *fleet) await(ctx context.Context, deadline <-chan time.Time) bool {
	if f.draining {
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
		f.takeIn(t, now)
		failed[id] = t.err != nil
		if err := f.attempted(t); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// takeIn records the selection that a JVM has now.
func (f *fleet) takeIn(t *task, now time.Time) {
	id := t.jvm.ID
	if t.listed != nil {
		f.adopt(t)
		return
	}
	b := f.state.JVMs[id]
	if b == nil {
		return
	}
	if len(t.outputs) < len(b.Outputs) { // the other outputs do not exist, or are not shipped
		b.Outputs = t.outputs
	}
	switch {
	case t.restored:
		delete(f.state.JVMs, id)
		f.state.Quiet = later(f.state.Quiet, now.Add(trailTime))
	case t.applied:
		b.Applied, b.Cause, b.Unsure = t.want, t.from, false
	case t.undone:
		b.Unsure = false
	}
}

// adopt keeps a baseline that was just read. A JVM that has created its socket
// again has a new ID, and looks like a new JVM: the selection that it lists is
// the raised one, and its baseline was saved under the old ID, for the same
// streams or others. A JVM that was started since then lists no output as
// reconfigured; if a raise is for it, its predecessor is forgotten.
func (f *fleet) adopt(t *task) {
	is := t.learned
	for id, was := range f.state.JVMs {
		if was.PID != t.jvm.PID || f.found(id) {
			continue
		}
		if !was.reconfiguredIn(t.listed) {
			if t.learned != nil {
				f.forget(id)
			}
			continue
		}
		is = was
		is.Unsure = true
		delete(f.state.JVMs, id)
	}
	if is != nil {
		f.state.JVMs[t.jvm.ID] = is
	}
}

// reconfiguredIn reports whether a list has every output of b, reconfigured.
func (b *baseline) reconfiguredIn(listed []attach.Output) bool {
	for _, o := range b.Outputs {
		if !slices.ContainsFunc(listed, func(l attach.Output) bool { return l.Name == o.Name && l.Reconfigured }) {
			return false
		}
	}
	return len(b.Outputs) > 0
}
