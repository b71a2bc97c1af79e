package levels

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/attach"
)

const (
	firstWait = time.Second      // after a failure; doubled with each further one
	mostWait  = 30 * time.Second // ... up to this
)

// attempt is what became of the last attempt to bring a JVM in line.
type attempt struct {
	wanted  string // selection
	err     error
	refusal error // the JVM refused: it is not asked again for the same
	wait    time.Duration
	next    time.Time // not before
}

// attempted keeps what the next attempt has to know, and returns the error to
// report.
func (f *fleet) attempted(t *task) error {
	id := t.jvm.ID
	a := f.attempts[id]
	switch {
	case t.err == nil && a.refusal == nil:
		delete(f.attempts, id)
		return nil
	case errors.Is(t.err, context.Canceled):
		return nil // we are asked to end, and drain
	case t.err == nil: // at last it has what it had before the refusal
		a.err, a.wait = a.refusal, 0
		f.attempts[id] = a
		return nil
	}
	a.wanted, a.err = t.wanted, named(t.jvm, t.err)
	switch {
	case a.refusal != nil:
		a.err = fmt.Errorf("%w; taking it back: %w", a.refusal, t.err)
	case attach.KindOf(t.err) == attach.Refused && !t.want.IsZero(), errors.Is(t.err, errNotShipped):
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
	case errors.Is(t.err, errRemade):
		delete(f.state.JVMs, id) // no further attempt can change that
		delete(f.attempts, id)
	}
	return a.err
}

// noOurs reports whether no JVM that logs to the source is behind the socket: one that
// logs elsewhere, or a socket that a JVM left behind. That is reported only
// where there is no other.
func (a attempt) noOurs() bool {
	return errors.Is(a.err, errNotShipped) || attach.KindOf(a.err) == attach.NoJVM
}

// named puts the JVM's name before an error that does not have it.
func named(j attach.JVM, err error) error {
	if _, has := err.(*attach.Error); has {
		return err
	}
	return fmt.Errorf("%s: %w", j, err)
}
