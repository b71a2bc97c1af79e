package levels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/attach"
)

// Listed is what a JVM logs, and where to.
type Listed struct {
	JVM     attach.JVM
	Outputs []ListedOutput
}

// ListedOutput is one output of a JVM.
type ListedOutput struct {
	attach.Output
	Shipped bool
	Raised  string // selection on top of its own; empty: none
}

// command prepares for a one-time use: what annotations ask for is the
// business of the Manager that runs.
func (m *Manager) command(ctx context.Context) {
	m.notes.unknown, m.oneTime = true, true
	// A Manager that runs always has its state saved. If there is none, it was
	// taken away, and is soon there again: without it, a raised level would be
	// taken for the JVM's own.
	wait, cancel := context.WithTimeout(ctx, 4*pollInterval)
	defer cancel()
	for !m.loaded && m.store.lost() && wait.Err() == nil {
		select {
		case <-wait.Done():
		case <-time.After(pollInterval / 10):
		}
	}
	if !m.loaded {
		m.reload(time.Now())
	}
}

// NoJVMError is that no JVM answers, and that nothing is wrong beside that.
type NoJVMError struct {
	text  string
	stale int // sockets that nobody listens on
}

// Error says how a JVM is made to answer.
func (e *NoJVMError) Error() string {
	if e.stale > 0 {
		return fmt.Sprintf("%s; nobody listens any more on %d sockets that are left there", e.text, e.stale)
	}
	return e.text
}

// List asks every JVM for its outputs. It returns what it got and an error for
// the rest, a [*NoJVMError] if there is no rest either. A socket that a JVM left
// behind is of no interest, unless the JVM was named.
func (m *Manager) List(ctx context.Context) ([]Listed, error) {
	m.command(ctx)
	jvms, problems := m.client.Find(ctx)
	problems = append([]error{m.store.missing()}, problems...)
	all, errs := make([]Listed, len(jvms)), make([]error, len(jvms))
	for i, j := range jvms {
		m.crew.Go(func() {
			outputs, listErr := m.list(ctx, j)
			all[i], errs[i] = Listed{JVM: j, Outputs: m.describe(j, outputs)}, listErr
		})
	}
	m.crew.Wait()
	all = slices.DeleteFunc(all, func(l Listed) bool { return l.Outputs == nil })
	none := &NoJVMError{text: m.noJVM()}
	for i, listErr := range errs {
		if attach.KindOf(listErr) == attach.NoJVM && m.cfg.Attach.PID == 0 {
			none.stale++
		} else if listErr != nil {
			problems = append(problems, named(jvms[i], listErr))
		}
	}
	if err := errors.Join(problems...); err != nil || len(all) > 0 {
		return all, err
	}
	return nil, none
}

// describe says what we have to do with a JVM's outputs.
func (m *Manager) describe(j attach.JVM, outputs []attach.Output) []ListedOutput {
	var all []ListedOutput
	for _, o := range outputs {
		lo := ListedOutput{Output: o, Shipped: m.ships(j, o)}
		if b := m.state.JVMs[j.ID]; b != nil && lo.Shipped {
			lo.Raised = b.Applied
		}
		all = append(all, lo)
	}
	return all
}

// Set raises the shipped outputs of every JVM for a while. A JVM that refuses
// is left as it was. If no JVM took the raise, none is wanted afterwards and
// the error says why. What Set began, the Manager that runs ends ([Manager.Owned]);
// where none does, the caller has to [Manager.Hold].
func (m *Manager) Set(ctx context.Context, sel attach.Selection, lasts time.Duration) ([]Change, time.Time, error) {
	m.command(ctx)
	was, had := m.state.Raises[FromCommand]
	var until time.Time
	changes, err := m.update(ctx, func(now time.Time) {
		r := newRaise(sel, lasts, string(FromCommand), "ullage log set", now)
		m.state.Raises[FromCommand], until, m.holds = r, r.Until, r.Since
	})
	if err == nil {
		err = m.nobody()
	}
	if err == nil || len(changes) > 0 {
		return changes, until, err
	}
	_, undoErr := m.update(ctx, func(time.Time) {
		if delete(m.state.Raises, FromCommand); had {
			m.state.Raises[FromCommand] = was
		}
	})
	if undoErr != nil && undoErr.Error() != err.Error() {
		err = errors.Join(err, undoErr)
	}
	return nil, time.Time{}, err
}

// Owned reports whether a Manager runs on this source, here or in another
// process.
func (m *Manager) Owned() bool { return m.store.owned() }

// ErrReplaced is that another command has raised the level since.
var ErrReplaced = errors.New("another command has raised the level since, and sees to its end")

// Hold keeps what Set began until it is over, or until ctx ends, and restores.
// It leaves a raise that has taken the place of its own, with ErrReplaced.
func (m *Manager) Hold(ctx context.Context) error {
	m.holding, m.oneTime = true, false
	return m.Run(ctx)
}

// Reset ends every raise, whatever it came from, and restores. An annotation
// that is still there stays without effect until it changes.
func (m *Manager) Reset(ctx context.Context) ([]Change, error) {
	m.command(ctx)
	return m.update(ctx, func(time.Time) {
		for cause := range m.state.Raises {
			m.end(cause, "ullage log reset")
		}
	})
}

// Rotate has every JVM rotate its log files: all of those that have archives,
// the application's too, since HotSpot knows nothing narrower. It returns the
// files. Like all that changes a JVM, it does nothing where there is no source.
func (m *Manager) Rotate(ctx context.Context) ([]Listed, error) {
	listed, err := m.List(ctx)
	if errors.Is(err, errNoSource) {
		return nil, err
	}
	var done []Listed
	for _, l := range listed {
		if _, runErr := m.client.Run(ctx, l.JVM, attach.Rotate()); runErr != nil {
			err = errors.Join(err, named(l.JVM, runErr))
			continue
		}
		done = append(done, l)
	}
	return done, err
}
