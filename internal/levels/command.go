package levels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/selection"
)

// Command does one thing to the levels of a source. Where a process keeps them,
// an `ullage run` or a command that holds a raise, Command asks that one. Where
// none does, it keeps them itself while it lasts. It is for one goroutine.
type Command struct {
	cfg   Config
	store *store
	loop  *Loop              // keeps the levels, in this process; nil: another does, or none is needed
	stop  context.CancelFunc // of what is under way in loop
}

// NewCommand returns a Command for a valid cfg, whose Annotations it leaves to
// `ullage run`. It touches nothing.
func NewCommand(cfg Config) *Command {
	return &Command{cfg: cfg, store: &store{source: cfg.Source}}
}

// askPatience is how long a Command waits for an answer: the other process may wait
// for a JVM, first for the raise and then to take that back.
func (c *Command) askPatience() time.Duration { return 2*perTask*c.cfg.Attach.Timeout + lockPatience }

// List asks every JVM for its outputs. It returns what it got and an error for
// the rest, a [*NoJVMError] if there is no rest either. A source that is missing is an error beside the outputs: then
// nothing is shipped of what the JVMs write.
func (c *Command) List(ctx context.Context) ([]Listed, error) {
	if r, err := c.consult(ctx, verbList); !r.Yielded {
		return r.Listed, err
	}
	missing := c.store.missing()
	raised := map[string]string{}
	if missing == nil {
		// Where the saved state cannot be read, its raises are not shown: the
		// process that knew them has ended.
		if s, _ := c.store.load(time.Now()); s != nil {
			for id, b := range s.JVMs {
				raised[id] = b.Applied
			}
		}
	}
	_, listed, err := newDialogue(c.cfg).listAll(ctx, func(id string) string { return raised[id] })
	var none *NoJVMError
	if missing != nil && errors.As(err, &none) {
		err = nil // the missing source is the reason
	}
	return listed, errors.Join(missing, err)
}

// Rotate has every JVM rotate its log files: all of those that have archives,
// the application's too, since HotSpot knows nothing narrower. It returns the
// files. Like all that changes a JVM, it does nothing where there is no source.
func (c *Command) Rotate(ctx context.Context) ([]Listed, error) {
	if r, err := c.consult(ctx, verbRotate); !r.Yielded {
		return r.Listed, err
	}
	if err := c.store.missing(); err != nil {
		return nil, err
	}
	return newDialogue(c.cfg).rotateAll(ctx)
}

// Set raises the shipped outputs of every JVM for a while. A JVM that refuses
// is left as it was. If no JVM took the raise, none is wanted afterwards and
// the error says why. If it returns changes or no error, and not [Command.Kept],
// the caller has to [Command.Hold].
func (c *Command) Set(ctx context.Context, sel selection.Selection, lasts time.Duration) ([]Change, time.Time, error) {
	r, err := c.do(ctx, request{Verb: verbSet, Selection: sel.String(), For: lasts, PID: c.cfg.Attach.PID})
	if err != nil && len(r.Changes) == 0 && c.loop != nil {
		if ctx.Err() != nil { // a JVM may have taken it and not have answered
			err = errors.Join(err, c.loop.drain(context.WithoutCancel(ctx)))
		}
		c.close()
	}
	return r.Changes, r.Until, err
}

// Reset ends every raise, whatever it came from, and restores. An annotation
// that is still there stays without effect until it changes.
func (c *Command) Reset(ctx context.Context) ([]Change, error) {
	r, err := c.do(ctx, request{Verb: verbReset, PID: c.cfg.Attach.PID})
	c.close()
	return r.Changes, err
}

// Kept reports whether another process ends the raise that Set began.
func (c *Command) Kept() bool { return c.loop == nil }

// ErrReplaced means that another process keeps the levels from now on.
var ErrReplaced = errors.New("another ullage keeps the levels now, and restores them")

// successionTime is how long a Command that yields waits for its successor to
// take the lock: two polls of an `ullage run`, and more.
const successionTime = 4 * pollInterval

// Hold keeps what Set began until it is over, or until ctx ends, and restores.
// If another process asks for the levels, a later command or an `ullage run`,
// and takes the lock, Hold leaves them to that one, with ErrReplaced.
func (c *Command) Hold(ctx context.Context) error {
	for !c.hold(ctx) {
		c.close()
		if !c.alonePast(ctx, successionTime) {
			return ErrReplaced
		}
		c.open(ctx) // whoever asked did not come: perhaps the application
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

// hold keeps the raise until it is over, or ctx ends. It returns false if
// another process asks for the levels before.
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

// alonePast reports whether nobody has taken the lock for a while. Then this
// process has it.
func (c *Command) alonePast(ctx context.Context, d time.Duration) bool {
	for began := time.Now(); time.Since(began) < d && ctx.Err() == nil; _ = pauseFor(ctx, pollInterval/10) {
		if c.store.kept() {
			return false
		}
	}
	return c.store.lock() == nil
}

// consult asks the process that keeps the levels, where there is one, for what
// needs no lock.
func (c *Command) consult(ctx context.Context, verb string) (reply, error) {
	if !c.store.kept() {
		return reply{Yielded: true}, nil
	}
	return c.ask(ctx, request{Verb: verb, PID: c.cfg.Attach.PID})
}

// do has a request done, by the process that keeps the levels or by this one.
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

// ask asks the process that holds the lock. For a moment after its start, and
// at its end, nobody listens there. The reply says Yielded if the lock is free.
func (c *Command) ask(ctx context.Context, r request) (reply, error) {
	for began := time.Now(); ; {
		answer, err := c.store.ask(ctx, r, c.askPatience())
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

// open starts a Loop in this process, which holds the lock. What annotations ask
// for is left to an `ullage run`.
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

// alone does a request in this process, which holds the lock.
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
