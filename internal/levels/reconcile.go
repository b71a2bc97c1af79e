package levels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/attach"
)

const (
	// updatePatience is how long an update waits for the JVMs. One that takes longer
	// is left to itself, and holds up no other and no further update.
	updatePatience = 500 * time.Millisecond

	// perTask is how many times the time of one command a JVM may take for all
	// that it is told at once.
	perTask = 2
)

// reconcile brings the JVMs in line with what is wanted. It costs nothing when
// nothing is raised and nothing is to be; a JVM that is in line is not spoken
// to. The state is touched here alone: what a task finds out is taken in when
// it has landed. What a restart needs to undo a raise is saved before the JVM
// hears of it.
func (m *Manager) reconcile(ctx context.Context, now time.Time) error {
	want, err := m.goal(now)
	if err != nil {
		return err
	}
	if want.sel.IsZero() && len(m.state.JVMs)+len(m.flying) == 0 {
		m.jvms, m.problems, m.attempts = nil, nil, map[string]attempt{}
		return nil
	}
	m.find(ctx, now)
	var bad []error
	failed := map[string]bool{} // in this reconcile
	for deadline := time.After(updatePatience); ; {
		bad = append(bad, m.settle(now, failed)...)
		if ctx.Err() == nil {
			bad = append(bad, m.dispatch(ctx, m.plan(want, now, failed))...)
		}
		if len(m.flying) == 0 || !m.await(ctx, deadline) {
			break
		}
	}
	m.prune()
	return errors.Join(bad...)
}

// goal is the selection that is wanted of every JVM; none is the JVM's own.
type goal struct {
	sel  attach.Selection
	from Cause
}

func (m *Manager) goal(now time.Time) (goal, error) {
	cause, r, on := m.state.wanted(now)
	if !on || m.draining {
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
func (m *Manager) find(ctx context.Context, now time.Time) {
	m.jvms, m.problems = m.client.Find(ctx, slices.Collect(maps.Keys(m.state.JVMs))...)
	for _, j := range m.jvms {
		m.seen[j.ID] = now
	}
	for id := range m.state.JVMs {
		if attach.Ended(id) {
			m.forget(id)
		}
	}
}

// forget drops the baseline of a JVM that is not there any more.
func (m *Manager) forget(id string) {
	b, ok := m.state.JVMs[id]
	if !ok {
		return
	}
	if b.Applied != "" {
		m.log.Info("JVM ended while its log level was raised", "pid", b.PID, "raised_to", b.Applied)
	}
	m.ended[id] = true
	delete(m.state.JVMs, id)
	delete(m.seen, id)
}

// prune forgets baselines beyond the number that is believed when it is read
// back, of which those of JVMs that are found now, at most 16, are never too
// many.
func (m *Manager) prune() {
	var gone []string
	for id := range m.state.JVMs {
		if !m.found(id) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return m.seen[a].Compare(m.seen[b]) })
	for len(m.state.JVMs) > maxJVMs {
		m.forget(gone[0])
		gone = gone[1:]
	}
	maps.DeleteFunc(m.seen, func(id string, _ time.Time) bool { return m.state.JVMs[id] == nil })
}

func (m *Manager) found(id string) bool {
	return slices.ContainsFunc(m.jvms, func(j attach.JVM) bool { return j.ID == id })
}

// plan returns the JVMs that are not as they should be, and may be tried.
func (m *Manager) plan(want goal, now time.Time, failed map[string]bool) []*task {
	var tasks []*task
	attempts := map[string]attempt{} // those of JVMs that are gone are dropped
	for _, j := range m.jvms {
		a, tried := m.attempts[j.ID]
		if tried = tried && a.wanted == want.sel.String(); tried {
			attempts[j.ID] = a
		}
		b := m.state.JVMs[j.ID]
		if b != nil && want.sel.IsZero() && b.Applied == "" && !b.Unsure {
			delete(m.state.JVMs, j.ID) // it was told nothing
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
		if inLine || m.flying[j.ID] != nil || failed[j.ID] || tried && !m.draining && now.Before(a.next) {
			continue
		}
		if b != nil {
			// What was read back may name what is not ours.
			b.Outputs = slices.DeleteFunc(slices.Clone(b.Outputs), func(o attach.Output) bool { return !m.ships(j, o) })
			if len(b.Outputs) == 0 {
				delete(m.state.JVMs, j.ID)
				continue
			}
			t.outputs, t.before, t.unsure = b.Outputs, b.before(), b.Unsure
		}
		tasks = append(tasks, t)
	}
	m.attempts = attempts
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

// dispatch lets the tasks begin. That the JVMs are told something is saved
// before: a process that finds that later takes nothing for granted. A JVM
// whose baseline cannot be saved is not raised; where it is saved, a tmpfs
// without room keeps nobody from raising it further, or from restoring it.
func (m *Manager) dispatch(ctx context.Context, tasks []*task) (bad []error) {
	note := false
	for _, t := range tasks {
		if b := m.state.JVMs[t.jvm.ID]; b != nil && (!b.Unsure || !b.kept) {
			b.Unsure, note = true, true
		}
	}
	var unsaved error
	if note {
		unsaved = m.store.save(m.state)
	}
	for _, t := range tasks {
		b := m.state.JVMs[t.jvm.ID]
		if b != nil && !b.kept && unsaved != nil {
			delete(m.state.JVMs, t.jvm.ID)
			t.err = fmt.Errorf("raise nothing, since its baseline cannot be kept: %w", unsaved)
			bad = append(bad, m.attempted(t))
			continue
		}
		if b != nil {
			b.kept = true
		}
		m.launch(ctx, t)
	}
	return bad
}

// launch begins a task. It has landed when its channel is closed.
func (m *Manager) launch(ctx context.Context, t *task) {
	t.landed = make(chan struct{})
	m.flying[t.jvm.ID] = t
	ctx, cancel := context.WithTimeout(ctx, perTask*m.cfg.Attach.Timeout)
	m.crew.Go(func() {
		defer cancel()
		t.err = m.bring(ctx, t)
		close(t.landed)
		select {
		case m.landing <- struct{}{}:
		default: // one is on its way
		}
	})
}

// await waits until a task lands. It reports false when it is time to go on
// without the others. A command has the time to wait for all of them.
func (m *Manager) await(ctx context.Context, deadline <-chan time.Time) bool {
	if m.oneTime || m.draining {
		deadline = nil // each task has one of its own
	}
	select {
	case <-m.landing:
		return true
	case <-deadline:
		return false
	case <-ctx.Done():
		m.crew.Wait() // they end with the context, too
		return true
	}
}

// settle takes in what became of the tasks that have landed.
func (m *Manager) settle(now time.Time, failed map[string]bool) (bad []error) {
	for id, t := range m.flying {
		select {
		case <-t.landed:
		default:
			continue
		}
		delete(m.flying, id)
		m.takeIn(t, now)
		failed[id] = t.err != nil
		if err := m.attempted(t); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// takeIn notes what a JVM has now.
func (m *Manager) takeIn(t *task, now time.Time) {
	id := t.jvm.ID
	b := m.state.JVMs[id]
	switch {
	case t.learned != nil:
		m.adopt(t)
		return
	case b == nil:
		return
	case b.before() != t.before:
		b.Unsure = true // a command has told it something else meanwhile
		return
	}
	if len(t.outputs) < len(b.Outputs) { // the others are not there, or not ours
		b.Outputs = t.outputs
	}
	switch {
	case t.restored:
		delete(m.state.JVMs, id)
		m.state.Quiet = later(m.state.Quiet, now.Add(settleTime))
	case t.applied:
		b.Applied, b.Cause, b.Unsure = t.want.String(), t.from, false
	case t.undone:
		b.Unsure = false
	}
}

// adopt keeps a baseline that was just read. A JVM that has made its socket
// anew looks like another one: what it lists is then not its own selection but
// what it was raised to, and its baseline is the one that is kept already. A JVM
// that has been started since lists nothing as reconfigured.
func (m *Manager) adopt(t *task) {
	is := t.learned
	for id, was := range m.state.JVMs {
		if was.PID != is.PID || m.found(id) {
			continue
		}
		if same := slices.EqualFunc(was.Outputs, is.Outputs, func(a, b attach.Output) bool { return a.Name == b.Name && b.Reconfigured }); same {
			is.Outputs, is.Applied, is.Cause, is.Unsure = was.Outputs, was.Applied, was.Cause, true
			delete(m.state.JVMs, id)
		} else {
			m.forget(id)
		}
	}
	m.state.JVMs[t.jvm.ID] = is
}
