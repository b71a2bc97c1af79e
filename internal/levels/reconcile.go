package levels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/attach"
)

const (
	atOnce    = 4                // JVMs that are spoken to at the same time
	graceGone = time.Minute      // a JVM that is not found this long has ended
	firstWait = time.Second      // after a failure; doubled with each further one
	mostWait  = 30 * time.Second // ... up to this
)

// attempt is what became of the last attempt to bring a JVM in line.
type attempt struct {
	wanted  string // selection
	err     error
	refusal error // the JVM said no: it is not asked again for the same
	wait    time.Duration
	next    time.Time // not before
}

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

// errRemade is what is said of an output that cannot be restored any more.
var errRemade = errors.New("an output was deleted while it was raised, and is there anew")

// errNotShipped is what is said of a JVM whose log goes elsewhere.
var errNotShipped = errors.New("none of its outputs is shipped")

// baselineOf asks a JVM what it logs and keeps the outputs that are ours.
func (m *Manager) baselineOf(ctx context.Context, j attach.JVM) (*baseline, error) {
	outputs, err := m.list(ctx, j)
	if err != nil {
		return nil, err
	}
	b := &baseline{PID: j.PID}
	var elsewhere []string
	for _, o := range outputs {
		switch {
		case !m.ships(j, o):
			if o.File() != "" {
				elsewhere = append(elsewhere, o.File())
			}
		case o.Err != nil:
			return nil, fmt.Errorf("output %s is left alone: %w", o.Name, o.Err)
		default:
			if _, err := attach.Configure(o, attach.Selection{}); err != nil {
				return nil, fmt.Errorf("it could not be restored: %w", err)
			}
			b.Outputs = append(b.Outputs, o)
		}
	}
	if len(b.Outputs) == 0 {
		return nil, fmt.Errorf("%w: it has no file output in %s that matches %q (it has: %s)", errNotShipped,
			m.cfg.Source, m.cfg.Match, strings.Join(append(elsewhere, "stdout, stderr"), ", "))
	}
	return b, nil
}

// list asks a JVM for its outputs.
func (m *Manager) list(ctx context.Context, j attach.JVM) ([]attach.Output, error) {
	text, err := m.client.Run(ctx, j, attach.List())
	if err != nil {
		return nil, err
	}
	return attach.ParseList(text)
}

// ships reports whether the output is one whose files the sidecar ships.
func (m *Manager) ships(j attach.JVM, o attach.Output) bool {
	file := o.File()
	if file == "" || !m.client.Ships(j, o) {
		return false
	}
	// As HotSpot expands a name: the first of each only.
	name := strings.Replace(filepath.Base(file), "%p", strconv.Itoa(j.PID), 1)
	name = strings.Replace(name, "%t", "2006-01-02_15-04-05", 1)
	ok, err := path.Match(m.cfg.Match, name)
	return err == nil && ok
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

// configure sets every shipped output to its baseline with raise on top.
func (m *Manager) configure(ctx context.Context, t *task, raise attach.Selection) error {
	for _, o := range t.base.Outputs {
		cmd, err := attach.Configure(o, raise)
		if err != nil {
			return err
		}
		if _, err := m.client.Run(ctx, t.jvm, cmd); err != nil {
			return err
		}
	}
	return nil
}

// restore returns a JVM to its baseline and looks whether it is there.
func (m *Manager) restore(ctx context.Context, t *task) error {
	if err := m.configure(ctx, t, attach.Selection{}); err != nil {
		return err
	}
	outputs, err := m.list(ctx, t.jvm)
	if err != nil {
		return err
	}
	listed := map[string]attach.Output{}
	for _, o := range outputs {
		listed[o.Name] = o
	}
	for _, was := range t.base.Outputs {
		is, ok := listed[was.Name]
		if !ok {
			return fmt.Errorf("verify the restored configuration: the JVM no longer lists %s", was.Name)
		}
		if was.Options != is.Options {
			// Nothing that we send does that. Somebody has deleted the output,
			// and a JVM makes one that it does not know, with its defaults.
			return fmt.Errorf("%w: %s has the options %s, it had %s", errRemade, was.Name, is.Options, was.Options)
		}
		if was.Selection != is.Selection || was.Decorators != is.Decorators {
			return fmt.Errorf("verify the restored configuration: %s is %s %s, it was %s %s", was.Name,
				is.Selection, is.Decorators, was.Selection, was.Decorators)
		}
	}
	t.restored = true
	return nil
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

// attempted keeps what the next attempt has to know, and returns what is to be
// told.
func (m *Manager) attempted(t *task) error {
	id := t.jvm.ID
	a := m.attempts[id]
	switch {
	case t.err == nil && a.refusal == nil:
		delete(m.attempts, id)
		return nil
	case errors.Is(t.err, context.Canceled):
		return nil // we are asked to end, and drain
	case t.err == nil: // at last it has what it had before the refusal
		a.err, a.wait = a.refusal, 0
		m.attempts[id] = a
		return nil
	}
	a.wanted, a.err = t.wanted, named(t.jvm, t.err)
	switch {
	case a.refusal != nil:
		a.err = fmt.Errorf("%w; taking it back: %w", a.refusal, t.err)
	case attach.KindOf(t.err) == attach.Refused && !t.want.IsZero(), errors.Is(t.err, errNotShipped):
		a.refusal = a.err
	}
	a.wait = min(max(2*a.wait, firstWait), mostWait)
	a.next = time.Now().Add(a.wait)
	m.attempts[id] = a
	switch {
	case a.noOurs() && t.base == nil:
		return nil
	case a.noOurs():
		m.forget(id)
	case errors.Is(t.err, errRemade):
		delete(m.state.JVMs, id) // no further attempt can mend that
		delete(m.attempts, id)
	}
	m.count(t)
	return a.err
}

// noOurs reports whether there is no JVM of ours behind the socket: one that
// logs elsewhere, or a socket that a JVM left behind. That is worth a word only
// where there is no other.
func (a attempt) noOurs() bool {
	return errors.Is(a.err, errNotShipped) || attach.KindOf(a.err) == attach.NoJVM
}

// named puts the JVM's name before an error that does not have it.
func named(j attach.JVM, err error) error {
	if _, has := err.(*attach.Error); has {
		return err
	}
	return fmt.Errorf("%s: %w", j, err)
}

func (m *Manager) count(t *task) {
	op := opRaise
	if t.want.IsZero() {
		op = opRestore
	}
	m.metrics.errors.WithLabelValues(op).Inc()
	if kind := attach.KindOf(t.err); kind != "" {
		m.metrics.attach.WithLabelValues(string(kind)).Inc()
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
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
