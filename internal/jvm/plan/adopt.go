package plan

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Adopted is an output into the source that was given to a JVM without such an output. It is saved
// before any command is sent to the JVM, and forgotten once a list has shown that the JVM does not
// have the output. A process that finds a saved adoption removes the output or keeps it.
type Adopted struct {
	PID       int           `json:"pid"`    // informational
	Output    string        `json:"output"` // its name, as VM.log lists it
	Selection ask.Selection `json:"selection"`
	Given     bool          `json:"given"` // the JVM has accepted it

	// Unsure is set before anything is sent to the JVM, and cleared when the JVM has answered. In
	// between, the JVM may or may not have the output.
	Unsure bool `json:"unsure"`

	kept bool // the adoption is saved
}

// sound reports whether ullage could have given such an output to a JVM.
func (a *Adopted) sound() bool {
	file := attach.Output{Name: a.Output}.File()
	_, err := attach.Delete(a.Output)
	return err == nil && filepath.IsAbs(file) && filepath.Base(file) == ask.OutputFile && !a.Selection.IsZero()
}

// Step is what a [Task] does.
type Step int

// The steps. All except Level concern the output that is given to a JVM.
const (
	Level Step = iota // change the levels of the outputs
	Look              // list the outputs, without changing the JVM
	Give              // give the JVM the output
	Take              // remove the output
)

// Adoption has the selection that is wanted for JVMs without an output into the source, and the
// results so far. It is part of a [Plan].
type Adoption struct {
	plan *Plan

	want  ask.Selection // zero: no JVM is to be adopted
	known bool          // want is known; as long as it is unknown, the JVMs keep their outputs
	over  ask.Selection // a command has ended the adoption with this wanted selection; zero: no command has
	by    string        // the process that asked for the end

	settled  map[string]bool    // by JVM ID: the JVM needs no output, or cannot have one
	attempts map[string]attempt // by JVM ID: the last attempts that failed
}

// Want sets the selection for JVMs without an output into the source. Zero gives them no output. If
// the selection is not known, JVMs keep the outputs that they were given.
func (d *Adoption) Want(what ask.Selection, known bool) {
	if d.known = known; !known || what == d.want {
		return
	}
	d.want, d.over, d.by = what, ask.Selection{}, ""
	clear(d.settled)
	clear(d.attempts)
}

// End ends the adoption until another selection is wanted. by is the process that asked for the
// end.
func (d *Adoption) End(by string) { d.over, d.by = d.want, by }

// wanted returns the selection for JVMs without an output into the source, or zero if no JVM is to
// be adopted.
func (d *Adoption) wanted() ask.Selection {
	if d.plan.Draining || d.want == d.over {
		return ask.Selection{}
	}
	return d.want
}

// On reports whether to look for JVMs that have no file of the source open.
func (d *Adoption) On() bool { return d.known && !d.wanted().IsZero() }

// Due returns when the next attempt is due for an adopted JVM whose state is not as wanted, or
// for a JVM whose adoption failed. due is false if there is no such JVM.
func (d *Adoption) Due(now time.Time) (at time.Time, due bool) {
	soonest := func(t time.Time) {
		if !due || t.Before(at) {
			at, due = t, true
		}
	}
	want := d.wanted()
	for id, a := range d.plan.State.Adopted {
		_, failed := d.attempts[id]
		if !failed && d.plan.has(id) && (a.Unsure || !a.Given || d.known && a.Selection != want) {
			soonest(now)
		}
	}
	for _, a := range d.attempts {
		if a.refusal == nil {
			soonest(a.next)
		}
	}
	return at, due
}

// Count counts the JVMs found now that were given an output.
func (d *Adoption) Count() (n int) {
	for _, j := range d.plan.found.JVMs {
		if d.plan.State.Adopted[j.ID] != nil {
			n++
		}
	}
	return n
}

// prune forgets the results for JVMs that are gone.
func (d *Adoption) prune() {
	gone := func(id string) bool { return !d.plan.has(id) }
	maps.DeleteFunc(d.settled, func(id string, _ bool) bool { return gone(id) })
	maps.DeleteFunc(d.attempts, func(id string, _ attempt) bool { return gone(id) })
}

// task returns the task that is due for the output that a JVM is given, or nil.
func (d *Adoption) task(j attach.JVM, goal Goal, now time.Time) *Task {
	want, a := d.wanted(), d.plan.State.Adopted[j.ID]
	decided := d.known || d.plan.Draining
	if a != nil && decided && a.Selection != want && !a.Given && !a.Unsure {
		delete(d.plan.State.Adopted, j.ID) // the JVM was sent nothing
		a = nil
	}
	t := &Task{JVM: j, Goal: goal, Output: a}
	switch {
	case a == nil && d.settled[j.ID]:
		return nil
	case a == nil && (decided && !want.IsZero() || d.orphan(j) != ""):
		t.Step = Look
	case a == nil, !decided && !a.Unsure:
		return nil
	case !decided || a.Selection == want:
		if t.Step = Give; a.Given && !a.Unsure {
			return nil
		}
	default:
		t.Step = Take
	}
	if last, failed := d.attempts[j.ID]; failed && !d.plan.Draining && now.Before(last.next) {
		return nil
	}
	if a != nil {
		copied := *a // tasks share no data
		t.Output = &copied
	}
	return t
}

// orphan returns the ID of a saved adoption with the process ID of j whose JVM is no longer found, or
// "". Such an adoption may be that of j: a JVM that has created its socket again has a new ID and looks
// like a new JVM.
func (d *Adoption) orphan(j attach.JVM) string {
	for id, a := range d.plan.State.Adopted {
		if a.PID == j.PID && !d.plan.has(id) {
			return id
		}
	}
	return ""
}

// doubt does the work of [Plan.Doubt] for the output that a JVM is given.
func (d *Adoption) doubt(t *Task) (note bool) {
	a := d.plan.State.Adopted[t.JVM.ID]
	if t.Step == Look || a == nil || a.Unsure && a.kept {
		return false
	}
	a.Unsure = true
	return true
}

// begin does the work of [Plan.Begin] for the output that a JVM is given.
func (d *Adoption) begin(t *Task, unsaved error) bool {
	a := d.plan.State.Adopted[t.JVM.ID]
	if t.Step == Look || a == nil {
		return true
	}
	if !a.kept && unsaved != nil {
		delete(d.plan.State.Adopted, t.JVM.ID)
		t.Err = fmt.Errorf("not adopted, because the adoption cannot be saved: %w", unsaved)
		return false
	}
	a.kept = true
	return true
}

// record does the work of [Plan.Record] for the output that a JVM is given.
func (d *Adoption) record(t *Task) {
	id := t.JVM.ID
	a := d.plan.State.Adopted[id]
	switch {
	case t.Step == Look && t.Err == nil:
		d.recordLook(t)
	case a == nil:
	case t.Gone:
		delete(d.plan.State.Adopted, id)
		d.disown(id, a.Output)
	case t.Given:
		a.Given, a.Unsure = true, false
		delete(d.plan.attempts, id) // the JVM now has an output to raise
	}
}

// recordLook records the output that a JVM is to be given, unless the JVM already has an output
// into the source or cannot have one. But first, it checks whether a JVM with the same process ID
// was given an output under another ID. If this JVM lists that output as reconfigured, it is the
// same JVM and keeps the output. A JVM that was started since then does not list it as
// reconfigured.
func (d *Adoption) recordLook(t *Task) {
	id, want := t.JVM.ID, d.wanted()
	if old := d.orphan(t.JVM); old != "" {
		a := d.plan.State.Adopted[old]
		delete(d.plan.State.Adopted, old)
		if slices.ContainsFunc(t.Listed, func(o attach.Output) bool { return o.Name == a.Output && o.Reconfigured }) {
			a.Unsure = true
			d.plan.State.Adopted[id] = a
			return
		}
	}
	if t.Name == "" || want.IsZero() {
		d.settled[id] = t.Name == ""
		return
	}
	d.plan.State.Adopted[id] = &Adopted{PID: t.JVM.PID, Output: t.Name, Selection: want}
}

// disown removes an output that a JVM no longer has from the JVM's baseline.
func (d *Adoption) disown(id, output string) {
	b := d.plan.State.JVMs[id]
	if b == nil {
		return
	}
	b.Outputs = slices.DeleteFunc(slices.Clone(b.Outputs), func(o attach.Output) bool { return o.Name == output })
	if len(b.Outputs) == 0 {
		delete(d.plan.State.JVMs, id)
	}
}

// changes returns which outputs were given to JVMs and which were removed.
func (d *Adoption) changes(before *State) (changes []Change) {
	for id, is := range d.plan.State.Adopted {
		if was := before.Adopted[id]; is.Given && (was == nil || !was.Given) {
			changes = append(changes, Change{PID: is.PID, Output: is.Output, From: NoOutput, To: is.Selection.String(), Adoption: true, raise: is.Selection, First: true})
		}
	}
	for id, was := range before.Adopted {
		if is := d.plan.State.Adopted[id]; is == nil && was.Given && !d.plan.ended[id] {
			changes = append(changes, Change{PID: was.PID, Output: was.Output, From: was.Selection.String(), To: NoOutput, Why: d.why(),
				Adoption: true, Restored: true, raise: was.Selection, by: d.by, First: true})
		}
	}
	return changes
}

// NoOutput is shown instead of the selection of an output that does not exist.
const NoOutput = "no output"

// why returns the reason why outputs are removed.
func (d *Adoption) why() string {
	switch {
	case d.plan.Draining:
		return WhyDrained
	case d.want.IsZero():
		return "it is no longer wanted"
	case d.want == d.over:
		return WhyReset
	}
	return "another selection is wanted"
}
