package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
)

const (
	firstWait = time.Second      // wait after the first failure; doubled after each further failure
	mostWait  = 30 * time.Second // the longest wait
)

// attempt is the result of the last attempt to reconcile a JVM.
type attempt struct {
	wanted  Goal
	err     error
	refusal error // the JVM refused this goal, so the goal is not sent again
	wait    time.Duration
	next    time.Time // the earliest next attempt
}

// backOff sets the time of the next attempt after a failure.
func (a *attempt) backOff() {
	a.wait = min(max(2*a.wait, firstWait), mostWait)
	a.next = time.Now().Add(a.wait)
}

// Attempted records the outcome of a task, whether it was sent or not, for the next attempt. It
// returns the error to report.
func (p *Plan) Attempted(t *Task) error {
	if t.Step != Level {
		return p.Adoption.attempted(t)
	}
	id := t.JVM.ID
	a := p.attempts[id]
	switch {
	case t.Err == nil && a.refusal == nil:
		delete(p.attempts, id)
		return nil
	case errors.Is(t.Err, context.Canceled):
		return nil // the process is ending and drains
	case t.Err == nil: // by now, the refused selection has been undone
		a.err, a.wait = a.refusal, 0
		p.attempts[id] = a
		return nil
	}
	a.wanted, a.err = t.Goal, outputs.Named(t.JVM, t.Err)
	switch {
	case a.refusal != nil:
		a.err = fmt.Errorf("%w; undoing the change failed, too: %w", a.refusal, t.Err)
	case attach.KindOf(t.Err) == attach.Refused && !t.Want.IsZero(), outputs.NothingToRaise(t.Err):
		a.refusal = a.err
	}
	a.backOff()
	p.attempts[id] = a
	switch {
	case a.noOurs() && t.Outputs == nil:
		return nil
	case a.noOurs():
		p.forget(id)
	case errors.Is(t.Err, outputs.ErrRemade):
		delete(p.State.JVMs, id) // no further attempt can succeed
		delete(p.attempts, id)
	}
	return a.err
}

// attempted does the work of [Plan.Attempted] for the output that a JVM is given. If the JVM
// refuses the output or cannot have it, there is no further attempt while the same selection is
// wanted.
func (d *Adoption) attempted(t *Task) error {
	id := t.JVM.ID
	if t.Err == nil {
		delete(d.attempts, id)
		return nil
	}
	if errors.Is(t.Err, context.Canceled) {
		return nil // the process is ending and drains
	}
	a := d.attempts[id]
	a.err = outputs.Named(t.JVM, t.Err)
	if t.Step != Take && (t.Gone || t.Step == Look) && Lasting(t.Err) {
		d.settled[id] = true
		a.refusal = a.err
	}
	a.backOff()
	d.attempts[id] = a
	return a.err
}

// Lasting reports whether an error about the output of a JVM makes further attempts useless.
func Lasting(err error) bool {
	return attach.KindOf(err) == attach.Refused || attach.KindOf(err) == attach.TooOld || errors.Is(err, outputs.ErrElsewhere)
}

// noOurs reports whether a.err means that the raise does not apply to the JVM of the socket: the
// JVM logs elsewhere or has no such stream, or the socket is stale. Such an error is reported
// only if there is no other error.
func (a attempt) noOurs() bool {
	return errors.Is(a.err, outputs.ErrNotShipped) || errors.Is(a.err, outputs.ErrOtherStream) || attach.KindOf(a.err) == attach.NoJVM
}

// Failures returns the error of the last attempt for each JVM, however long ago that was.
func (p *Plan) Failures() (all []error) {
	for _, a := range p.attempts {
		if !a.noOurs() {
			all = append(all, a.err)
		}
	}
	for _, a := range p.Adoption.attempts {
		all = append(all, a.err)
	}
	return all
}
