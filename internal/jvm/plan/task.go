package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Task brings one JVM to the wanted state in one step: it reads the baseline, or it sends the
// selection. Tasks share no data.
type Task struct {
	JVM     attach.JVM
	Step    Step
	Outputs []attach.Output // as they were before the first raise; nil: not read yet, and nothing is sent
	Before  ask.Selection
	Unsure  bool          // the JVM may have another selection than Before
	Want    ask.Selection // zero: the JVM's own
	Goal    Goal          // of all JVMs; the task wants something else if this JVM refused it, or is to be restored first

	Output *Adopted // of the other steps: the output to give or to take away; nil for Look

	from Cause // of Want

	// The results of the task.
	Err      error
	Listed   []attach.Output // all outputs, where the baseline was to be read
	Chosen   []attach.Output // of these, the ones to change; nothing was changed
	Applied  bool            // the JVM took Want
	Restored bool            // the JVM has its own selection again; a list verified that
	Undone   bool            // the JVM refused Want and has Before again
	Name     string          // of Look: of the output that the JVM is to get; empty: it has one of its own
	Given    bool            // the JVM has Output
	Gone     bool            // the JVM does not have Output
}

// Tasks returns tasks for the JVMs that differ from what is wanted and are due
// for an attempt, except JVMs that are busy with a task or have just failed.
func (p *Plan) Tasks(want Goal, now time.Time, busy func(id string) bool, failed map[string]bool) []*Task {
	var tasks []*Task
	attempts := map[string]attempt{} // without those of JVMs that have ended
	for _, j := range p.found.JVMs {
		a, tried := p.attempts[j.ID]
		if tried = tried && a.wanted.same(want); tried {
			attempts[j.ID] = a
		}
		if t := p.Adoption.task(j, want, now); t != nil { // first: a JVM without an output has none to raise
			if !busy(j.ID) && !failed[j.ID] {
				tasks = append(tasks, t)
			}
			continue
		}
		b := p.State.JVMs[j.ID]
		moved := b != nil && b.Stream != want.Stream
		if b != nil && (want.IsZero() || moved) && b.Applied.IsZero() && !b.Unsure {
			delete(p.State.JVMs, j.ID) // the JVM was sent nothing
			b, moved = nil, false
		}
		t := &Task{JVM: j, Want: want.Selection, from: want.from, Goal: want}
		switch {
		case moved:
			// A raise of other streams begins with the JVM's own level: what the
			// baseline does not name would stay raised.
			t.Want, t.from = ask.Selection{}, ""
		case tried && a.refusal != nil:
			if b == nil || !b.Unsure {
				continue
			}
			t.Want, t.from = b.Applied, b.Cause // the refused selection is not undone yet
		}
		inLine := b == nil && t.Want.IsZero() || b != nil && !t.Want.IsZero() && b.Applied == t.Want && !b.Unsure
		if inLine || busy(j.ID) || failed[j.ID] || tried && !p.Draining && now.Before(a.next) {
			continue
		}
		if b != nil {
			// A state that was read back may name outputs that are not shipped.
			b.Outputs = slices.DeleteFunc(slices.Clone(b.Outputs), func(o attach.Output) bool { return !p.ships(j, o) })
			if len(b.Outputs) == 0 {
				delete(p.State.JVMs, j.ID)
				continue
			}
			t.Outputs, t.Before, t.Unsure = b.Outputs, b.Applied, b.Unsure
		}
		tasks = append(tasks, t)
	}
	p.attempts = attempts
	return tasks
}

// Doubt notes that the selections of the JVMs of tasks are uncertain, so that a later process
// verifies them. It reports whether that must be saved before anything is sent.
func (p *Plan) Doubt(tasks []*Task) (note bool) {
	for _, t := range tasks {
		if t.Step != Level {
			note = p.Adoption.doubt(t) || note
			continue
		}
		if b := p.State.JVMs[t.JVM.ID]; b != nil && (!b.Unsure || !b.kept) {
			b.Unsure, note = true, true
		}
	}
	return note
}

// Begin reports whether a task may be carried out. A JVM whose baseline cannot be saved, for
// the reason unsaved, is not raised: the task fails. Once the baseline is saved, a
// full tmpfs prevents neither further raises nor the restore.
func (p *Plan) Begin(t *Task, unsaved error) bool {
	if t.Step != Level {
		return p.Adoption.begin(t, unsaved)
	}
	b := p.State.JVMs[t.JVM.ID]
	if b != nil && !b.kept && unsaved != nil {
		delete(p.State.JVMs, t.JVM.ID)
		t.Err = fmt.Errorf("not raised, because its baseline cannot be saved: %w", unsaved)
		return false
	}
	if b != nil {
		b.kept = true
	}
	return true
}

// Record records the selection that a JVM has after a task that was carried out.
func (p *Plan) Record(t *Task, now time.Time) {
	id := t.JVM.ID
	switch {
	case t.Step != Level:
		p.Adoption.record(t)
		return
	case t.Listed != nil:
		p.keepBaseline(t)
		return
	}
	b := p.State.JVMs[id]
	if b == nil {
		return
	}
	if len(t.Outputs) < len(b.Outputs) { // the other outputs do not exist, or are not shipped
		b.Outputs = t.Outputs
	}
	switch {
	case t.Restored:
		delete(p.State.JVMs, id)
		p.State.Quiet = later(p.State.Quiet, now.Add(TrailTime))
	case t.Applied:
		b.Applied, b.Cause, b.Unsure = t.Want, t.from, false
	case t.Undone:
		b.Unsure = false
	}
}

// TrailTime is how long after a restore the reader may still receive lines
// of the raise: twice the interval of its poll.
const TrailTime = 2 * time.Second

// keepBaseline keeps a baseline that was just read. A JVM that has created its socket
// again has a new ID, and looks like a new JVM: the selection that it lists is
// the raised one, and its baseline was saved under the old ID, for the same
// streams or others. A JVM that was started since then lists no output as
// reconfigured; if a raise is for it, its predecessor is forgotten.
func (p *Plan) keepBaseline(t *Task) {
	var is *Baseline
	if t.Chosen != nil {
		is = &Baseline{PID: t.JVM.PID, Outputs: t.Chosen, Stream: t.Goal.Stream}
	}
	for id, was := range p.State.JVMs {
		if was.PID != t.JVM.PID || p.has(id) {
			continue
		}
		if !was.reconfiguredIn(t.Listed) {
			if t.Chosen != nil {
				p.forget(id)
			}
			continue
		}
		is = was
		is.Unsure = true
		delete(p.State.JVMs, id)
	}
	if is != nil {
		p.State.JVMs[t.JVM.ID] = is
	}
}

// reconfiguredIn reports whether a list has every output of b, reconfigured.
func (b *Baseline) reconfiguredIn(listed []attach.Output) bool {
	for _, o := range b.Outputs {
		if !slices.ContainsFunc(listed, func(l attach.Output) bool { return l.Name == o.Name && l.Reconfigured }) {
			return false
		}
	}
	return len(b.Outputs) > 0
}
