package levels

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/printable"
)

// Change is one thing that was done to an output of a JVM.
type Change struct {
	PID      int
	Output   string
	From, To string // selections
	Why      string
	Until    time.Time // zero for a restore

	reason   string // of a raise, a metric's label
	restored bool
}

// Status is how the levels are. It is a copy.
type Status struct {
	Cause      Cause // of the raise in effect; empty: none
	Selection  string
	Why        string
	Since      time.Time
	Until      time.Time
	JVMs       []JVMStatus // those that were found; none are looked for while nothing is raised
	Problems   []Problem   // bad annotations
	Errors     []string    // that hold now
	Trigger    string
	Armed      bool
	Quiet      time.Time // when the triggers may be armed again
	Reconciled time.Time // when all was last as it should be
}

// JVMStatus is one JVM's part of it.
type JVMStatus struct {
	PID     int
	Applied string // empty: its own level
	Outputs []string
	Error   string
	Kind    attach.Kind // of the error
}

// Status returns how the levels are. It may be called at any time.
func (m *Manager) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.shown
	st.Armed = m.watch.armed.Load() != nil
	return st
}

// show publishes the status. Its slices are not changed afterwards.
func (m *Manager) show(now time.Time) {
	var st Status
	if cause, r, on := m.state.wanted(now); on && !m.draining {
		st.Cause, st.Selection, st.Why, st.Since, st.Until = cause, r.Selection, r.Why, r.Since, r.Until
	}
	raised := 0
	for _, j := range m.jvms {
		js := JVMStatus{PID: j.PID}
		if b := m.state.JVMs[j.ID]; b != nil {
			js.Applied = b.Applied
			for _, o := range b.Outputs {
				js.Outputs = append(js.Outputs, o.Name)
			}
		}
		if a, failed := m.attempts[j.ID]; failed && a.err != nil {
			js.Error, js.Kind = printable.Escaped(a.err.Error(), maxSaid), attach.KindOf(a.err)
		}
		if js.Applied != "" {
			raised++
		}
		st.JVMs = append(st.JVMs, js)
	}
	m.metrics.raised.Set(float64(raised))
	for text := range m.told {
		st.Errors = append(st.Errors, printable.Escaped(text, maxSaid))
	}
	if m.notes.err != nil {
		st.Errors = append(st.Errors, m.notes.err.Error())
	}
	slices.Sort(st.Errors)
	st.Problems, st.Quiet = m.notes.problems, m.state.Quiet
	if t := m.notes.request.Trigger; !t.IsZero() {
		st.Trigger = t.String()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	st.Reconciled = m.reconciled
	m.shown = st
}

// changes are what an update did: the difference between the states before and
// after it, so that it holds what a command has done, too.
func (m *Manager) changes(before *state) []Change {
	var changes []Change
	for id, is := range m.state.JVMs {
		from := ""
		if was := before.JVMs[id]; was != nil {
			from = was.Applied
		}
		if is.Applied == from {
			continue
		}
		r := m.state.Raises[is.Cause]
		for _, o := range is.Outputs {
			changes = append(changes, Change{PID: is.PID, Output: o.Name, From: onTop(o, from), To: onTop(o, is.Applied),
				Why: r.Why, Until: r.Until, reason: r.Reason})
		}
	}
	for id, was := range before.JVMs {
		if m.state.JVMs[id] != nil || was.Applied == "" || m.ended[id] {
			continue
		}
		for _, o := range was.Outputs {
			changes = append(changes, Change{PID: was.PID, Output: o.Name, From: onTop(o, was.Applied), To: o.Selection,
				Why: m.whyEnded(was.Cause), restored: true})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Output, b.Output))
	})
	return changes
}

// onTop is the selection of an output while raised: that of its own, and the
// raise on top of it.
func onTop(o attach.Output, raise string) string {
	if raise == "" {
		return o.Selection
	}
	return o.Selection + "," + raise
}

// whyEnded says why a raise is over.
func (m *Manager) whyEnded(cause Cause) string {
	r, ok := m.state.Raises[cause]
	switch {
	case ok && r.Ended != "":
		return r.Ended
	case m.draining:
		return whyDrained
	case ok:
		return "its time is over"
	}
	return fmt.Sprintf("the %s is gone", cause)
}

func (m *Manager) tellChange(c Change) {
	if c.restored {
		m.metrics.restores.Inc()
		m.log.Info("log level restored", "pid", c.PID, "output", c.Output, "from", c.From, "to", c.To, "why", c.Why)
		return
	}
	m.metrics.raises.WithLabelValues(c.reason).Inc()
	m.log.Info("log level raised", "pid", c.PID, "output", c.Output, "from", c.From, "to", c.To, "why", c.Why,
		"until", c.Until.Add(time.Second-1).UTC().Format(time.RFC3339)) // rounded up: it is not over before
}

// tellAnnotations logs what is wrong with the annotations, each time that it
// has changed.
func (m *Manager) tellAnnotations() {
	n := len(m.notes.problems)
	for _, p := range m.notes.problems {
		if slices.Contains(m.noted, p) {
			continue
		}
		m.log.Warn("bad annotation", "annotation", p.Key, "value", p.Value, "problem", p.Text,
			"hint", "it changes nothing until it is corrected")
	}
	m.noted = m.notes.problems
	if m.notes.err != nil {
		n++
		m.log.Warn("cannot read the annotations", "error", m.notes.err,
			"hint", "the last readable annotations stay in effect")
	}
	m.metrics.problems.Set(float64(n))
	m.show(time.Now())
}

// tellErrors logs each error when it begins, and again only after it has
// ended in between.
func (m *Manager) tellErrors(err error) {
	told := map[string]bool{}
	for _, e := range split(err) {
		told[e.Error()] = true
	}
	for _, e := range m.problems {
		if told[e.Error()] = true; !m.told[e.Error()] {
			m.metrics.attach.WithLabelValues(string(attach.KindOf(e))).Inc()
		}
	}
	for _, a := range m.attempts { // those that were not tried again this time, too
		if !a.noOurs() {
			told[a.err.Error()] = true
		}
	}
	if _, _, on := m.state.wanted(time.Now()); on && !m.draining && err == nil {
		for _, e := range split(m.nobody()) {
			told[e.Error()] = true
		}
	}
	maps.DeleteFunc(told, func(string, bool) bool { return len(told) > maxTold })
	for text := range told {
		if !m.told[text] {
			m.warn(text)
		}
	}
	m.told = told
}

// Bounds on what is said of JVMs: what they answer is theirs to choose, and
// they may come and go as fast as they like.
const (
	maxTold    = 32 // errors that hold at a time
	maxWarns   = 30 // lines of the log
	warnPeriod = time.Minute
)

// warn logs an error, but not more than maxWarns in a minute.
func (m *Manager) warn(text string) {
	now := time.Now()
	if now.Sub(m.warned) > warnPeriod {
		m.warned, m.warns = now, 0
	}
	switch m.warns++; {
	case m.warns < maxWarns:
		m.log.Warn("log levels are not as wanted", "error", printable.Escaped(text, maxSaid))
	case m.warns == maxWarns:
		m.log.Warn("log levels have too many errors to log", "hint", "/status lists all errors; logging resumes within a minute")
	}
}

// maxSaid bounds one error. A refusal has HotSpot's suggestions in it.
const maxSaid = 2048

// nobody says why there is no JVM to raise, or returns nil if there is one.
func (m *Manager) nobody() error {
	if m.ours()+len(m.flying) > 0 {
		return nil
	}
	var why []error
	for _, a := range m.attempts {
		why = append(why, a.err)
	}
	why = append(why, m.problems...)
	if len(why) > 0 {
		return errors.Join(why...)
	}
	return errors.New(m.noJVM())
}

// noJVM says that there is nobody to speak to, and what to do about it.
func (m *Manager) noJVM() string {
	text := "no JVM has a socket in " + m.cfg.Attach.Tmp + " (start it with -XX:+StartAttachListener, and share its /tmp"
	process := "no process that logs to " + m.cfg.Source + " is a JVM (share the process namespace"
	switch m.cfg.Attach.Mode {
	case attach.ProcessNamespace:
		text = process + ")"
	case attach.SharedTmp:
		text += "; or share the process namespace, and take --attach process-namespace)"
	default:
		text += "), and " + process + ", as for --attach process-namespace)"
	}
	if m.oneTime { // which does not wait
		return text
	}
	return "waiting for a JVM: " + text
}

// split takes joined errors apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, split(e)...)
	}
	return all
}
