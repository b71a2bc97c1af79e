package levels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/ul"
)

// Command runs one operation on the levels of a source. If another process
// keeps the levels (an `ullage run`, or a command that holds a raise), Command
// sends it a request. Otherwise Command keeps the levels itself until it is
// closed. A Command is not safe for concurrent use.
type Command struct {
	cfg   Config
	store *store
	loop  *Loop              // keeps the levels in this process; nil: another process does, or no keeper is needed
	stop  context.CancelFunc // waits for the tasks of loop
}

// NewCommand returns a Command for a valid cfg. Command ignores
// cfg.Annotations, which only `ullage run` reads. NewCommand has no side
// effects.
func NewCommand(cfg Config) *Command {
	return &Command{cfg: cfg, store: &store{source: cfg.Source}}
}

// askPatience is how long a Command waits for a reply. The keeper may have to
// wait for a JVM twice: for the raise, and for undoing it.
func (c *Command) askPatience() time.Duration { return 2*perTask*c.cfg.Attach.Timeout + lockPatience }

// List lists the outputs of every JVM. It returns the outputs that it got and
// an error for the rest, or a [*NoJVMError] if there is neither. It lists stale
// sockets as well, which are no error. If the source is missing, List returns an
// error beside the outputs: nothing that the JVMs write is shipped then.
func (c *Command) List(ctx context.Context) ([]Listed, error) {
	if r, err := c.consult(ctx, verbList); !r.Yielded {
		return r.Listed, err
	}
	missing := c.store.missing()
	saved := newState()
	if missing == nil {
		// If the saved state cannot be read, its raises are not listed: the
		// process that knew them has ended.
		if s, _ := c.store.load(time.Now()); s != nil {
			saved = s
		}
	}
	_, listed, err := newDialogue(c.cfg).listAll(ctx, saved.raisedTo)
	var none *NoJVMError
	if missing != nil && errors.As(err, &none) {
		err = nil // the missing source is the reason
	}
	return listed, errors.Join(missing, err)
}

// Rotate rotates the log files of every JVM: all files that have archives, the
// application's included, because HotSpot has no narrower command. It returns
// the files. Like every command that changes a JVM, Rotate does nothing if the
// source is missing.
func (c *Command) Rotate(ctx context.Context) ([]Listed, error) {
	if r, err := c.consult(ctx, verbRotate); !r.Yielded {
		return r.Listed, err
	}
	if err := c.store.missing(); err != nil {
		return nil, err
	}
	return newDialogue(c.cfg).rotateAll(ctx)
}

// Set raises shipped outputs of every JVM for a while: the ones of the streams
// that match a pattern, or, if that is empty, all whose lines show their level. A
// pattern that matches no stream is an error, and changes nothing: the raise that
// is in effect goes on. A JVM that refuses keeps its level. If no JVM takes the raise, Set withdraws it
// and the error gives the reason. If Set returns changes or no error, and
// [Command.Kept] is false, the caller must call [Command.Hold].
func (c *Command) Set(ctx context.Context, sel ask.Selection, stream string, lasts time.Duration) ([]Change, time.Time, error) {
	if err := c.checkStream(ctx, stream); err != nil {
		return nil, time.Time{}, err
	}
	r, err := c.do(ctx, request{Verb: verbSet, Selection: sel.String(), Stream: stream, For: lasts, PID: c.cfg.Attach.PID})
	if err != nil && len(r.Changes) == 0 && c.loop != nil {
		if ctx.Err() != nil { // a JVM may have taken the raise without answering
			err = errors.Join(err, c.loop.drain(context.WithoutCancel(ctx)))
		}
		c.close()
	}
	return r.Changes, r.Until, err
}

// checkStream returns an error if every JVM lists its outputs and no stream of a shipped output
// matches. A raise of other streams begins with the restore of every JVM, so a typo would
// otherwise end the raise in effect and begin it again. If a JVM cannot be listed, checkStream
// returns nil: the raise reports the reason.
func (c *Command) checkStream(ctx context.Context, stream string) error {
	if stream == "" {
		return nil
	}
	listed, err := c.List(ctx)
	if err != nil {
		return nil
	}
	var others []error
	for _, l := range listed {
		names, found := l.streams(stream)
		switch {
		case found:
			return nil
		case len(names) > 0:
			others = append(others, named(attach.JVM{PID: l.PID}, otherStream(stream, names)))
		}
	}
	return errors.Join(others...)
}

// SetApp raises the events of every application for a while, and returns the end of that raise. Only an `ullage run`
// reads events: it is an error if none keeps the levels.
func (c *Command) SetApp(ctx context.Context, level ul.Level, lasts time.Duration) (until time.Time, err error) {
	r := reply{Yielded: true}
	if c.store.kept() {
		r, err = c.ask(ctx, request{Verb: verbSet, App: level, For: lasts, PID: c.cfg.Attach.PID})
	}
	if err == nil && r.Yielded {
		err = fmt.Errorf("no 'ullage run' ships %s, and nobody else reads events: start one", c.cfg.Source)
	}
	return r.Until, err
}

// Reset ends every raise, whatever its cause, and restores the JVMs. An
// annotation that is still present has no effect until it changes. App is the
// level that the application's events were raised to; [ul.Unknown]: they were not.
func (c *Command) Reset(ctx context.Context) (changes []Change, app ul.Level, err error) {
	r, err := c.do(ctx, request{Verb: verbReset, PID: c.cfg.Attach.PID})
	c.close()
	return r.Changes, r.App, err
}

// Kept reports whether another process keeps the levels, and ends the raise
// that Set began.
func (c *Command) Kept() bool { return c.loop == nil }

// ErrReplaced reports that another process keeps the levels from now on.
var ErrReplaced = errors.New("another ullage now keeps the levels and restores them")

// successionTime is how long a Command that has yielded waits for its successor
// to take the lock: more than two polls of an `ullage run`.
const successionTime = 4 * pollInterval

// Hold keeps the raise that Set began until the raise is over or ctx ends, then
// restores the JVMs. If a later command or an `ullage run` asks for the levels
// and takes the lock, Hold returns ErrReplaced and leaves the levels to that
// process.
func (c *Command) Hold(ctx context.Context) error {
	for !c.hold(ctx) {
		c.close()
		if !c.alonePast(ctx, successionTime) {
			return ErrReplaced
		}
		c.open(ctx) // no process took the lock: the application may have sent the request
	}
	defer c.close()
	c.stop()
	for {
		err := c.loop.drain(context.WithoutCancel(ctx))
		if err == nil || ctx.Err() != nil || pauseFor(ctx, findInterval) != nil {
			return err
		}
	}
}

// hold keeps the raise until it is over or ctx ends. It returns false if
// another process asks for the levels first.
func (c *Command) hold(ctx context.Context) bool {
	turning, cancel := context.WithCancel(ctx)
	defer cancel()
	l := c.loop
	replaced := func() bool { return len(l.errands.heirs) > 0 }
	l.turn(turning, func() bool {
		r, ok := l.fleet.state.Raises[FromCommand]
		return replaced() || !ok || r.over(time.Now())
	})
	return !replaced()
}

// alonePast waits for successionTime and reports whether no other process took
// the lock. This process then holds the lock.
func (c *Command) alonePast(ctx context.Context, d time.Duration) bool {
	for began := time.Now(); time.Since(began) < d && ctx.Err() == nil; _ = pauseFor(ctx, pollInterval/10) {
		if c.store.kept() {
			return false
		}
	}
	return c.store.lock() == nil
}

// consult sends the keeper, if there is one, a request that needs no lock.
func (c *Command) consult(ctx context.Context, verb string) (reply, error) {
	if !c.store.kept() {
		return reply{Yielded: true}, nil
	}
	return c.ask(ctx, request{Verb: verb, PID: c.cfg.Attach.PID})
}

// do runs a request in the process that keeps the levels, or in this process.
func (c *Command) do(ctx context.Context, r request) (reply, error) {
	for began := time.Now(); ; {
		err := c.store.lock()
		if err == nil {
			return c.alone(ctx, r)
		}
		if !errors.Is(err, errHeld) || time.Since(began) > lockPatience {
			return reply{}, err
		}
		answer, err := c.ask(ctx, r)
		if err != nil || !answer.Yielded {
			return answer, err
		}
		if err := pauseFor(ctx, pollInterval/25); err != nil {
			return reply{}, err
		}
	}
}

// ask sends a request to the process that holds the lock. That process does not
// listen for a moment after its start and at its end. The reply has Yielded set
// if the lock is free.
func (c *Command) ask(ctx context.Context, r request) (reply, error) {
	for began := time.Now(); ; {
		answer, err := c.store.ask(ctx, r, c.askPatience())
		if err == nil {
			if err := r.tooOld(answer); err != nil {
				return reply{}, err
			}
		}
		if !errors.Is(err, errNobody) {
			return answer, errors.Join(err, answer.err())
		}
		if !c.store.kept() {
			return reply{Yielded: true}, nil
		}
		if time.Since(began) > lockPatience {
			return reply{}, fmt.Errorf("%w %s, and %w", errHeld, c.store.path(lockName), err)
		}
		if err := pauseFor(ctx, pollInterval/25); err != nil {
			return reply{}, err
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// open starts a Loop in this process, which holds the lock. The Loop ignores
// annotations: those are for an `ullage run`.
func (c *Command) open(ctx context.Context) context.Context {
	cfg := c.cfg
	cfg.Annotations = ""
	c.loop = New(cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	c.loop.store.held, c.store.held = c.store.held, nil
	c.loop.notes.unknown, c.loop.holds = true, true
	ctx, c.stop = context.WithCancel(ctx)
	c.loop.tick(ctx)
	return ctx
}

// alone runs a request in this process, which holds the lock.
func (c *Command) alone(ctx context.Context, r request) (reply, error) {
	turning, l, e := c.open(ctx), c.loop, newErrand(r)
	l.begin(turning, e)
	l.turn(turning, func() bool { l.conclude(turning); return e.answered() })
	if ctx.Err() != nil {
		return reply{Changes: e.changes, Until: e.until}, context.Cause(ctx)
	}
	answer := <-e.answer
	return answer, answer.err()
}

// close lets another process keep the levels.
func (c *Command) close() {
	if c.loop != nil {
		c.stop()
		c.loop.close()
	}
}
