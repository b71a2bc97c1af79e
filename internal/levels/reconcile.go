package levels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/attach"
)

const (
	atOnce    = 4           // JVMs that are spoken to at the same time
	graceGone = time.Minute // a JVM that is not found this long has ended
)

// task is one JVM that has to be brought in line.
type task struct {
	jvm    attach.JVM
	base   *baseline // what it was before; nil until it has been read
	want   attach.Selection
	from   Cause
	wanted string // what is wanted of all JVMs; another selection than want if this one refused it

	// What became of it.
	err      error
	learned  bool // its baseline was read
	applied  bool // it took want
	restored bool // it has its own again, and that is verified
	undone   bool // it refused want and has again what it had before
}

// reconcile brings the JVMs in line with what is wanted. It costs nothing when
// nothing is raised and nothing is to be; a JVM that is in line is not spoken
// to. The caller holds the lock and saves the state afterwards; what a restart
// needs to undo a raise is saved before the JVM hears of it.
func (m *Manager) reconcile(ctx context.Context, now time.Time) error {
	cause, want, on := m.state.wanted(now)
	if m.draining {
		on = false
	}
	if !on {
		want, cause = raise{}, ""
		if len(m.state.JVMs) == 0 {
			m.jvms, m.problems, m.attempts = nil, nil, map[string]attempt{}
			return nil
		}
	}
	var sel attach.Selection
	if on {
		var err error
		if sel, err = attach.ParseSelection(want.Selection); err != nil {
			return fmt.Errorf("read the wanted selection: %w", err) // it was parsed before
		}
	}
	m.find(ctx, now)
	tasks := m.plan(sel, cause, now)
	each(tasks, func(t *task) { t.err = m.bring(ctx, t) })
	return m.settle(tasks, now)
}

// find looks for the JVMs, and forgets those that have ended.
func (m *Manager) find(ctx context.Context, now time.Time) {
	m.jvms, m.problems = m.client.Find(ctx)
	for _, j := range m.jvms {
		m.seen[j.ID] = now
	}
	for id := range m.state.JVMs {
		if m.seen[id].IsZero() {
			m.seen[id] = now
		}
		if now.Sub(m.seen[id]) > graceGone {
			m.forget(id)
		}
	}
	maps.DeleteFunc(m.seen, func(_ string, at time.Time) bool { return now.Sub(at) > graceGone })
}

// forget drops the baseline of a JVM that has ended, as far as can be seen.
func (m *Manager) forget(id string) {
	if b := m.state.JVMs[id]; b.Applied != "" {
		m.log.Info("a JVM has ended while its log level was raised", "pid", b.PID, "raised to", b.Applied)
	}
	m.ended[id] = true
	delete(m.state.JVMs, id)
}

// plan returns the JVMs that are not as they should be, and may be tried.
func (m *Manager) plan(want attach.Selection, cause Cause, now time.Time) []*task {
	var tasks []*task
	attempts := map[string]attempt{} // those of JVMs that have ended are dropped
	for _, j := range m.jvms {
		b := m.state.JVMs[j.ID]
		t := &task{jvm: j, base: b, want: want, from: cause, wanted: want.String()}
		a, tried := m.attempts[j.ID]
		if tried = tried && a.wanted == t.wanted; tried {
			attempts[j.ID] = a
		}
		if tried && a.refusal != nil {
			if b == nil || !b.Unsure {
				continue
			}
			t.want, t.from = b.before(), b.Cause // it could not be taken back yet
		}
		inLine := b == nil && t.want.IsZero() || b != nil && !t.want.IsZero() && b.Applied == t.want.String() && !b.Unsure
		if !inLine && (!tried || m.draining || !now.Before(a.next)) {
			tasks = append(tasks, t)
		}
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

// learn reads the baseline of a JVM.
func (m *Manager) learn(ctx context.Context, t *task) error {
	b, err := m.baselineOf(ctx, t.jvm)
	if err != nil {
		return err
	}
	t.base, t.learned = b, true
	m.learning.Lock()
	defer m.learning.Unlock()
	m.state.JVMs[t.jvm.ID] = b
	return nil
}

// note saves that the JVM is about to be told something: a process that finds
// that later is not to take for granted what the JVM has. A JVM whose baseline
// cannot be saved is not raised; where that was done before, a tmpfs without
// room keeps nobody from raising it further, or from restoring it.
func (m *Manager) note(t *task) error {
	m.learning.Lock()
	defer m.learning.Unlock()
	if t.base.Unsure {
		return nil
	}
	t.base.Unsure = true
	err := m.store.save(m.state)
	if err == nil || !t.learned {
		return nil
	}
	delete(m.state.JVMs, t.jvm.ID)
	return fmt.Errorf("raise nothing, since its baseline cannot be kept: %w", err)
}

// bring makes one JVM what it should be. It changes t and, under the lock, the
// state; nothing else.
func (m *Manager) bring(ctx context.Context, t *task) error {
	if t.base == nil {
		if err := m.learn(ctx, t); err != nil {
			return err
		}
	}
	if err := m.note(t); err != nil {
		return err
	}
	if t.want.IsZero() {
		return m.restore(ctx, t)
	}
	err := m.configure(ctx, t, t.want)
	if t.applied = err == nil; t.applied || attach.KindOf(err) != attach.Refused {
		return err
	}
	// A selection that matches only in part is applied in part. Back to what
	// was there before it.
	undo := m.restore
	if before := t.base.before(); !before.IsZero() {
		undo = func(ctx context.Context, t *task) error { return m.configure(ctx, t, before) }
	}
	undoErr := undo(ctx, t)
	if t.undone = undoErr == nil; t.undone {
		return err
	}
	return fmt.Errorf("%w; taking it back: %w", err, undoErr)
}

// settle takes in what became of the tasks.
func (m *Manager) settle(tasks []*task, now time.Time) error {
	var bad []error
	for _, t := range tasks {
		if t.applied {
			t.base.Applied, t.base.Cause = t.want.String(), t.from
		}
		if t.applied || t.undone {
			t.base.Unsure = false
		}
		if t.restored {
			delete(m.state.JVMs, t.jvm.ID)
			m.state.Quiet = later(m.state.Quiet, now.Add(settleTime))
		}
		if err := m.attempted(t); err != nil {
			bad = append(bad, err)
		}
	}
	m.prune()
	return errors.Join(bad...)
}

// prune forgets JVMs beyond the number that is believed when it is read back,
// of which those that are found now, at most 16, are never too many.
func (m *Manager) prune() {
	var gone []string
	for id := range m.state.JVMs {
		if !slices.ContainsFunc(m.jvms, func(j attach.JVM) bool { return j.ID == id }) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return m.seen[a].Compare(m.seen[b]) })
	for len(m.state.JVMs) > maxJVMs {
		m.forget(gone[0])
		gone = gone[1:]
	}
}

// each does the same for several tasks at once, and waits.
func each(tasks []*task, do func(t *task)) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, t := range tasks {
		g.Go(func() error {
			do(t)
			return nil
		})
	}
	_ = g.Wait() // the errors are in the tasks
}
