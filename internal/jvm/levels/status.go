package levels

import (
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// Status is a snapshot of the levels.
type Status struct {
	Cause      plan.Cause    // the cause of the raise in effect; empty: none
	Raise      plan.Raise    // the raise in effect
	JVMs       []plan.JVM    // the JVMs found; empty while there is nothing to do, see [plan.Plan.JVMs]
	Problems   []ask.Problem // bad annotations
	Errors     []string      // the current errors
	Trigger    string
	Armed      bool
	Disarmed   string         // why the trigger is not armed; may be empty for a moment
	Never      string         // why the trigger, or one of its conditions, can never be met; empty: no known reason
	Missed     int64          // lines and stops that met a condition while the trigger was not armed
	Quiet      time.Time      // the earliest time at which the trigger may be armed
	Off        bool           // levels are not changed at all: --attach is off
	Reconciled time.Time      // when all JVMs last had the wanted selection
	App        admin.AppRaise // the raise of the application's events; an empty level: none

	trigger ask.Trigger
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
	st.Missed = l.triggers.Missed()
	return st
}

// Show adds the levels to the status of a sidecar, unless attaching is off and there is no trigger.
func (st Status) Show(to *admin.Status) {
	if st.Off && st.Trigger == "" {
		return
	}
	out := &admin.Levels{Off: st.Off, Errors: st.Errors, Reconciled: st.Reconciled}
	if r := st.Raise; st.Cause != "" {
		out.Raise = &admin.Raise{Cause: string(st.Cause), Why: r.Why, Selection: r.Selection.String(), Stream: r.Stream, ID: r.ID, Since: r.Since, Until: r.Until}
	}
	if st.App.Level != "" {
		out.App = &st.App
	}
	for _, j := range st.JVMs {
		out.JVMs = append(out.JVMs, admin.JVM{PID: j.PID, Applied: j.Applied.String(), Outputs: j.Outputs, Adopted: j.Adopted.String(), Error: j.Error, Kind: string(j.Kind)})
	}
	for _, p := range st.Problems {
		out.Annotations = append(out.Annotations, admin.Annotation{Key: p.Key, Value: p.Value, Problem: p.Text})
	}
	if st.Trigger != "" {
		out.Trigger = &admin.Trigger{Conditions: st.Trigger, Armed: st.Armed, Disarmed: st.Disarmed, Never: st.Never,
			Missed: st.Missed, QuietUntil: st.Quiet}
	}
	to.Levels = out
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
		st.App = admin.AppRaise{Cause: string(plan.FromAnnotation), Level: r.Levels.String(), ID: r.ID, Until: r.Until}
		if r == p.State.AppSet {
			st.App.Cause = string(plan.FromCommand)
		}
	}
	raised := 0
	for _, j := range st.JVMs {
		if !j.Applied.IsZero() {
			raised++
		}
	}
	l.reporter.metrics.raised.Set(float64(raised))
	l.reporter.metrics.adopted.Set(float64(p.Adoption.Count()))
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
		all = append(all, control.Split(l.runner.noneToRaise("waiting for a JVM: "))...)
	}
	return all
}
