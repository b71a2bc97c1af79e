package levels

import (
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// Status is a snapshot of the levels.
type Status struct {
	Cause      plan.Cause    // the cause of the raise in effect; empty: none
	Raise      plan.Raise    // in effect
	JVMs       []plan.JVM    // the JVMs found; none are looked for while nothing is raised
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
		if j.ID == id && slices.Contains(j.Outputs, output) {
			return j.Applied.String()
		}
	}
	return ""
}

// show publishes the status. The slices in it never change afterwards.
func (l *Loop) show(now time.Time) {
	p := l.plan
	st := Status{Off: l.cfg.Attach.Mode == attach.Off, Problems: l.notes.problems, Quiet: p.State.Quiet, Reconciled: l.reporter.reconciled, JVMs: p.JVMs()}
	if cause, r, on := p.Wanted(now); on {
		st.Cause, st.Raise = cause, r
	}
	if r, _ := p.State.AppNow(now); r != nil && !p.Draining && !st.Off {
		st.App = AppStatus{r.Level.String(), r.Until}
	}
	raised := 0
	for _, j := range st.JVMs {
		if !j.Applied.IsZero() {
			raised++
		}
	}
	l.reporter.metrics.raised.Set(float64(raised))
	for text := range l.reporter.holding {
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
	all := slices.Concat(control.Split(err), control.Split(l.owner.Deaf()), l.plan.Problems(), l.plan.Failures())
	if _, _, on := l.plan.Wanted(time.Now()); on && err == nil {
		all = append(all, control.Split(l.runner.nobody("waiting for a JVM: "))...)
	}
	return all
}
