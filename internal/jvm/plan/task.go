package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Task brings one JVM closer to the wanted state in one step: the task reads the baseline, or it
// sends a selection. Tasks share no data.
type Task struct {
	JVM     attach.JVM
	Step    Step
	Outputs []attach.Output // outputs as they were before the first raise; nil: not read yet, so the task only reads
	Before  ask.Selection
	Unsure  bool          // the JVM may have another selection than Before
	Want    ask.Selection // zero: the JVM's own
	Goal    Goal          // the goal for all JVMs; Want differs from it if this JVM refused the goal or must be restored first

	Output *Adopted // for Give and Take: the output to give or to remove; may be nil for Look

	from Cause // the cause of Want

	// The results of the task.
	Err      error
	Listed   []attach.Output // all outputs, if the task read the baseline
	Chosen   []attach.Output // the listed outputs that are to be changed; nothing has been changed yet
	Applied  bool            // the JVM accepted Want
	Restored bool            // a list has shown that the JVM has its own selection again
	Undone   bool            // the JVM refused Want and has Before again
	Name     string          // for Look: the name of the output to give to the JVM; empty: the JVM already has an output into the source
	Given    bool            // the JVM has Output
	Gone     bool            // the JVM does not have Output
}

// Tasks returns tasks for the JVMs whose state is not as wanted and for which an attempt is
// due. It leaves out JVMs that are busy with a task or whose task has just failed.
func (p *Plan) Tasks(want Goal, now time.Time, busy func(id string) bool, failed map[string]bool) []*Task {
	var tasks []*Task
	attempts := map[string]attempt{} // the attempts for this goal at the JVMs found now
	for _, j := range p.found.JVMs {
		a, tried := p.attempts[j.ID]
		if tried = tried && a.wanted.same(want); tried {
			attempts[j.ID] = a
		}
		if t := p.Adoption.task(j, want, now); t != nil { // adoption comes first: a JVM without an output has no output to raise
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
			// A raise of other streams first restores the JVM's own selection. Otherwise, outputs
			// that are not in the new baseline would stay raised.
			t.Want, t.from = ask.Selection{}, ""
		case tried && a.refusal != nil:
			if b == nil || !b.Unsure {
				continue
			}
			t.Want, t.from = b.Applied, b.Cause // the refused selection has not been undone yet
		}
		inLine := b == nil && t.Want.IsZero() || b != nil && !t.Want.IsZero() && b.Applied == t.Want && !b.Unsure
		if inLine && b != nil {
			b.Cause = t.from // another raise of the same selection may have begun or ended
		}
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

// Doubt records that the selections of the tasks' JVMs are uncertain, so that a later process
// verifies them. It reports whether the state must be saved before anything is sent.
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

// Begin reports whether a task may be carried out. If the baseline of a JVM cannot be saved, for
// the reason unsaved, the JVM is not raised and the task fails. Once the baseline is saved, a full
// tmpfs prevents neither further raises nor the restore.
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

// Record records the result of a task: the selection or the outputs that the JVM now has.
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

// keepBaseline keeps a baseline that was just read. A JVM that has created its socket again has a
// new ID and looks like a new JVM, but it lists the raised selection. keepBaseline then moves its
// saved baseline, for the same or for other streams, from the old ID to the new one. A JVM that was
// started since the raise lists no output as reconfigured. If the raise chooses outputs of that JVM,
// its predecessor with the same process ID is forgotten.
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

// reconfiguredIn reports whether a list has every output of b, each marked as reconfigured.
func (b *Baseline) reconfiguredIn(listed []attach.Output) bool {
	for _, o := range b.Outputs {
		if !slices.ContainsFunc(listed, func(l attach.Output) bool { return l.Name == o.Name && l.Reconfigured }) {
			return false
		}
	}
	return len(b.Outputs) > 0
}
