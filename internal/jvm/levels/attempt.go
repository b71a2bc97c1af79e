package levels

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
)

const (
	firstWait = time.Second      // after the first failure; doubled after each further one
	mostWait  = 30 * time.Second // the longest wait
)

// attempt is the result of the last attempt to reconcile a JVM.
type attempt struct {
	wanted  goal
	err     error
	refusal error // the JVM refused this goal, and is not asked for it again
	wait    time.Duration
	next    time.Time // the earliest next attempt
}

// attempted records what the next attempt needs, and returns the error to
// report.
func (f *fleet) attempted(t *task) error {
	id := t.jvm.ID
	a := f.attempts[id]
	switch {
	case t.err == nil && a.refusal == nil:
		delete(f.attempts, id)
		return nil
	case errors.Is(t.err, context.Canceled):
		return nil // the process ends and drains
	case t.err == nil: // the refused selection has been undone by now
		a.err, a.wait = a.refusal, 0
		f.attempts[id] = a
		return nil
	}
	a.wanted, a.err = t.wanted, outputs.Named(t.jvm, t.err)
	switch {
	case a.refusal != nil:
		a.err = fmt.Errorf("%w; taking it back: %w", a.refusal, t.err)
	case attach.KindOf(t.err) == attach.Refused && !t.want.IsZero(), outputs.NothingToRaise(t.err):
		a.refusal = a.err
	}
	a.wait = min(max(2*a.wait, firstWait), mostWait)
	a.next = time.Now().Add(a.wait)
	f.attempts[id] = a
	f.metrics.attach.WithLabelValues(string(attach.KindOf(t.err))).Inc()
	if a.noOurs() && t.outputs == nil {
		return nil
	}
	op := opRaise
	if t.want.IsZero() {
		op = opRestore
	}
	f.metrics.errors.WithLabelValues(op).Inc()
	switch {
	case a.noOurs():
		f.forget(id)
	case errors.Is(t.err, outputs.ErrRemade):
		delete(f.state.JVMs, id) // another attempt cannot succeed
		delete(f.attempts, id)
	}
	return a.err
}

// noOurs reports whether err means that the raise is not for the JVM behind the
// socket: the JVM logs elsewhere or has no such stream, or the socket is stale.
// Such an error is reported only if there is no other.
func (a attempt) noOurs() bool {
	return errors.Is(a.err, outputs.ErrNotShipped) || errors.Is(a.err, outputs.ErrOtherStream) || attach.KindOf(a.err) == attach.NoJVM
}
