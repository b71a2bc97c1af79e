package levels

import (
	"errors"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Status is a snapshot of the levels.
type Status struct {
	Cause      Cause         // the cause of the raise in effect; empty: none
	Raise      Raise         // in effect
	JVMs       []JVMStatus   // the JVMs found; none are looked for while nothing is raised
	Problems   []ask.Problem // bad annotations
	Errors     []string      // the current errors
	Trigger    string
	Armed      bool
	Disarmed   string    // why the trigger is not armed; may be empty for a moment
	Never      string    // why the trigger, or a condition of it, cannot be met; empty: it can, as far as known
	Quiet      time.Time // the earliest time at which the trigger is armed
	Off        bool      // levels are not changed at all: --attach is off
	Reconciled time.Time // when all JVMs last had the wanted selection
	App        AppStatus

	trigger ask.Trigger
}

// AppStatus is the raise of the application's events. Level is empty if there is none.
type AppStatus struct {
	Level string
	Until time.Time
}

// JVMStatus is the status of one JVM.
type JVMStatus struct {
	PID     int
	Applied ask.Selection // the raise that the JVM took; zero: none
	Outputs []string
	Error   string
	Kind    attach.Kind // the kind of Error

	id string
}

// Status returns a snapshot of the levels. It is safe for concurrent use.
func (l *Loop) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.shown
	if st.Armed = l.triggers.Armed(); st.Armed {
		st.Disarmed = ""
	}
	if st.Trigger != "" && st.Never == "" {
		st.Never = l.triggers.Never(st.trigger)
	}
	return st
}

// raisedTo implements [outputs.RaisedTo]. It is safe for concurrent use.
func (l *Loop) raisedTo(id, output string) string {
	for _, j := range l.Status().JVMs {
		if j.id == id && slices.Contains(j.Outputs, output) {
			return j.Applied.String()
		}
	}
	return ""
}

// show publishes the status. The slices in it never change afterwards.
func (l *Loop) show(now time.Time) {
	f := l.fleet
	st := Status{Off: l.cfg.Attach.Mode == attach.Off, Problems: l.notes.problems, Quiet: f.state.Quiet, Reconciled: l.journal.reconciled}
	if cause, r, on := f.state.wanted(now); on && !f.draining {
		st.Cause, st.Raise = cause, r
	}
	if r, _ := f.state.app(now); r != nil && !f.draining && !st.Off {
		st.App = AppStatus{r.Level.String(), r.Until}
	}
	raised := 0
	for _, j := range f.jvms {
		js := JVMStatus{PID: j.PID, id: j.ID}
		if b := f.state.JVMs[j.ID]; b != nil {
			js.Applied = b.Applied
			for _, o := range b.Outputs {
				js.Outputs = append(js.Outputs, o.Name)
			}
		}
		if a, failed := f.attempts[j.ID]; failed && a.err != nil {
			js.Error, js.Kind = printable.Escaped(a.err.Error(), maxQuoted), attach.KindOf(a.err)
		}
		if !js.Applied.IsZero() {
			raised++
		}
		st.JVMs = append(st.JVMs, js)
	}
	f.metrics.raised.Set(float64(raised))
	for text := range l.journal.holding {
		st.Errors = append(st.Errors, printable.Escaped(text, maxQuoted))
	}
	if l.notes.err != nil {
		st.Errors = append(st.Errors, l.notes.err.Error())
	}
	slices.Sort(st.Errors)
	if t := l.notes.request.Trigger; !t.IsZero() {
		st.Trigger, st.trigger = t.String(), t
		if st.Off {
			st.Never = "--attach is off: levels are not changed"
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	st.Disarmed = l.shown.Disarmed
	l.shown = st
}

// errorsNow returns the current errors after an update that returned err.
func (l *Loop) errorsNow(err error) []error {
	f := l.fleet
	all := append(split(err), split(l.keeper.deaf)...)
	all = append(all, f.problems...)
	for _, a := range f.attempts { // including JVMs that were not tried again in this update
		if !a.noOurs() {
			all = append(all, a.err)
		}
	}
	if _, _, on := f.state.wanted(time.Now()); on && !f.draining && err == nil {
		all = append(all, split(f.nobody("waiting for a JVM: "))...)
	}
	return all
}

// split separates the errors that errors.Join has joined. An error that wraps
// two others with a text of its own stays whole.
func split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, split(e)...)
	}
	return all
}
