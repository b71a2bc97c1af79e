package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/loggers"
)

// Command runs one operation on the levels of a source. It asks the owner, which is an `ullage
// run`. If there is no owner, the Command itself lists and rotates, but it changes no level. A
// Command is not safe for concurrent use.
type Command struct {
	cfg   outputs.Config
	store *store
}

// NewCommand returns a Command for a valid cfg. It has no side effects.
func NewCommand(cfg outputs.Config) *Command {
	return &Command{cfg: cfg, store: &store{source: cfg.Source}}
}

// ErrNoOwner reports that no `ullage run` answers. Without one, no process would end a raise.
var ErrNoOwner = errors.New("no 'ullage run' answers for the source: start one, and do not give it --attach off")

// startPatience is how long a Command waits for an `ullage run` that has just been started
// and does not listen yet: more than two of its polls.
const startPatience = 4 * KeepInterval

// replyPatience is how long a Command waits for a reply. The owner may have to wait for a JVM
// twice: once to raise its level, and once to undo the raise.
func (c *Command) replyPatience() time.Duration {
	return 2*PerTask*c.cfg.Attach.Timeout + lockPatience
}

// List lists the outputs of every JVM. It returns the outputs that it received and an error for the
// rest, or a [*outputs.NoJVMError] if there are neither. It also lists stale sockets, which are not
// an error. If the source is missing, List returns an error along with the outputs, because nothing
// that the JVMs write is shipped.
func (c *Command) List(ctx context.Context) ([]outputs.Listed, error) {
	r, err := c.ask(ctx, Request{Verb: VerbList, PID: c.cfg.Attach.PID})
	if !errors.Is(err, errNobody) {
		return r.Listed, err
	}
	missing := c.store.missing()
	saved := plan.NewState()
	if missing == nil {
		// If the saved state cannot be read, its raises are not listed: the
		// process that knew them has ended.
		if s, _ := plan.NewFile(c.cfg.Source).Load(time.Now()); s != nil {
			saved = s
		}
	}
	_, listed, err := outputs.New(c.cfg).ListAll(ctx, saved.RaisedTo)
	var none *outputs.NoJVMError
	if missing != nil && errors.As(err, &none) {
		err = nil // the missing source explains that there is no JVM
	}
	return listed, errors.Join(missing, err)
}

// Rotate rotates the log files of every JVM: all files that have archives, including the
// application's, because HotSpot has no narrower command. It returns the files. Like every command
// that changes a JVM, Rotate does nothing if the source is missing.
func (c *Command) Rotate(ctx context.Context) ([]outputs.Listed, error) {
	r, err := c.ask(ctx, Request{Verb: VerbRotate, PID: c.cfg.Attach.PID})
	if !errors.Is(err, errNobody) {
		return r.Listed, err
	}
	if err := c.store.missing(); err != nil {
		return nil, err
	}
	return outputs.New(c.cfg).RotateAll(ctx)
}

// Set makes the owner raise shipped outputs of every JVM for a while: the outputs of the streams
// that match a pattern or, if the pattern is empty, all outputs whose lines show their level. A
// pattern that matches no stream is an error and changes nothing: the raise in effect continues. A
// JVM that refuses keeps its level. If no JVM accepts the raise, the owner withdraws it, and the
// error has the reason.
func (c *Command) Set(ctx context.Context, raise ask.Raise) ([]plan.Change, time.Time, error) {
	if err := c.checkStream(ctx, raise.Stream); err != nil {
		return nil, time.Time{}, err
	}
	r, err := c.order(ctx, Request{Verb: VerbSet, Raise: raise})
	return r.Changes, r.Until, err
}

// checkStream returns an error if every JVM lists its outputs and no stream of a shipped output
// matches. A raise of different streams first restores every JVM, so without this check, a typo would
// end the raise in effect and then begin it again. If a JVM cannot be listed, checkStream returns nil:
// the raise then reports the reason.
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
		names, found := l.Streams(stream)
		switch {
		case found:
			return nil
		case len(names) > 0:
			others = append(others, outputs.Named(attach.JVM{PID: l.PID}, outputs.OtherStream(stream, names)))
		}
	}
	return errors.Join(others...)
}

// SetApp raises the events of every application for a while and returns the end of that
// raise.
func (c *Command) SetApp(ctx context.Context, to loggers.Levels, lasts time.Duration) (until time.Time, err error) {
	r, err := c.order(ctx, Request{Verb: VerbSet, App: to, Raise: ask.Raise{For: lasts}})
	return r.Until, err
}

// Reset ends every raise, whatever its cause, and restores the JVMs. An annotation that still
// exists has no effect until it changes. app has the levels to which the application's events were
// raised. Zero: they were not raised.
func (c *Command) Reset(ctx context.Context) (changes []plan.Change, app loggers.Levels, err error) {
	r, err := c.order(ctx, Request{Verb: VerbReset})
	return r.Changes, r.App, err
}

// Save makes the owner save the withheld lines that it holds.
func (c *Command) Save(ctx context.Context) (Saving, error) {
	r, err := c.order(ctx, Request{Verb: VerbSave})
	if err != nil || r.Saving == nil {
		return Saving{}, err
	}
	return *r.Saving, nil
}

// order asks the owner for what only the owner may do. It waits a moment for an owner that is just
// starting and longer for an owner that serves others. It fails with [ErrNoOwner] if no owner answers.
func (c *Command) order(ctx context.Context, r Request) (Reply, error) {
	if err := c.store.missing(); err != nil {
		return Reply{}, err
	}
	for began := time.Now(); ; {
		answer, err := c.ask(ctx, r)
		if !errors.Is(err, errNobody) {
			return answer, err
		}
		if errors.Is(err, fs.ErrPermission) {
			return Reply{}, fmt.Errorf("%w: run the command as the user of 'ullage run', or as root", err)
		}
		patience := startPatience
		if errors.Is(err, errClosed) {
			patience = lockPatience // there is an owner, and other clients may occupy it for requestTimeout
		}
		if time.Since(began) > patience {
			return Reply{}, fmt.Errorf("%w (%w)", ErrNoOwner, err)
		}
		if err := retry.Sleep(ctx, KeepInterval/10); err != nil {
			return Reply{}, err
		}
	}
}

// ask sends a request to the owner. The error wraps [errNobody] if no process answers.
func (c *Command) ask(ctx context.Context, r Request) (Reply, error) {
	answer, err := c.store.ask(ctx, r, c.replyPatience())
	if err == nil {
		if err := r.tooOld(answer); err != nil {
			return Reply{}, err
		}
	}
	return answer, errors.Join(err, answer.err())
}
