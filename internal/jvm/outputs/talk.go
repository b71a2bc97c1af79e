package outputs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Config says which JVMs to talk to and which of their outputs are shipped.
type Config struct {
	Attach attach.Config

	// Source and Match select the shipped files: only JVM outputs that write to such files are
	// changed. Other packages declare their flags.
	Source, Match string

	// Options are the options of an output that is given to a JVM. If empty, they are
	// [ask.OutputOptions]. Not a flag.
	Options string
}

// Talk sends commands to JVMs and reads their replies. It keeps no state
// about a JVM. Several goroutines may use it, but not for the same JVM.
type Talk struct {
	cfg Config

	// JVMs finds the JVMs.
	JVMs *attach.Client
}

// New returns a Talk for a valid cfg.
func New(cfg Config) Talk { return Talk{cfg, attach.New(cfg.Attach, cfg.Source)} }

// Recover turns a panic into an error, so that no answer of a JVM can stop the sidecar from
// shipping. Call it in a defer statement.
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("this is a bug in ullage: %v", r)
	}
}

// Named prefixes an error with the name of the JVM, unless the error already has the name.
func Named(j attach.JVM, err error) error {
	if _, has := err.(*attach.Error); has {
		return err
	}
	return fmt.Errorf("%s: %w", j, err)
}

// List lists the outputs of a JVM.
func (d Talk) List(ctx context.Context, j attach.JVM) ([]attach.Output, error) {
	text, err := d.JVMs.Run(ctx, j, attach.List())
	if err != nil {
		return nil, err
	}
	return attach.ParseList(text)
}

// Describe makes a JVM describe itself. If that fails, the description is empty.
func (d Talk) Describe(ctx context.Context, j attach.JVM) attach.Description {
	text, err := d.JVMs.Run(ctx, j, attach.Describe())
	if err != nil {
		return attach.Description{}
	}
	return attach.ParseDescription(text)
}

// Configure sets outputs of a JVM to their baseline, followed by raise. It switches off the tag set
// that would kill the JVM: see [attach.Guard].
func (d Talk) Configure(ctx context.Context, j attach.JVM, outputs []attach.Output, raise ask.Selection) error {
	for _, o := range outputs {
		guarded := attach.Guard(o, raise)
		err := d.send(ctx, j, attach.Configure, o, guarded)
		if guarded != raise && attach.Unguarded(err) {
			err = d.send(ctx, j, attach.Configure, o, raise)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Adopt gives a JVM an output. Call it only if the JVM does not list that output. Even if Adopt
// fails, the JVM may have the output, with all or part of the selection: remove it with
// [Talk.Release]. The error wraps [ErrElsewhere] if the JVM has the output and its file is not
// in the source.
func (d Talk) Adopt(ctx context.Context, j attach.JVM, name string, what ask.Selection) error {
	o := attach.Output{Name: name, Selection: "all=off", Decorators: ask.OutputDecorators, Options: cmp.Or(d.cfg.Options, ask.OutputOptions)}
	guarded := attach.Guard(o, what)
	err := d.send(ctx, j, attach.Create, o, guarded)
	if guarded != what && attach.Unguarded(err) {
		if err = d.Release(ctx, j, name); err == nil {
			err = d.send(ctx, j, attach.Create, o, what)
		}
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(d.cfg.Source, expanded(j, o))); err != nil {
		return fmt.Errorf("%w: the JVM's directory %s is not the shipped directory: %w", ErrElsewhere, printable.Escaped(filepath.Dir(o.File()), maxNamed), err)
	}
	return nil
}

// send builds a command by calling made with an output and a selection. It sends the command to a JVM.
func (d Talk) send(ctx context.Context, j attach.JVM, made func(attach.Output, ask.Selection) (attach.Command, error), o attach.Output, what ask.Selection) error {
	cmd, err := made(o, what)
	if err != nil {
		return err
	}
	_, err = d.JVMs.Run(ctx, j, cmd)
	return err
}

// Release removes an output from a JVM that lists it. It succeeds only if a later list shows
// that the JVM no longer has the output.
func (d Talk) Release(ctx context.Context, j attach.JVM, name string) error {
	listed, err := d.List(ctx, j)
	if err != nil || !Lists(listed, name) {
		return err
	}
	cmd, err := attach.Delete(name)
	if err != nil {
		return err
	}
	if _, err := d.JVMs.Run(ctx, j, cmd); err != nil {
		return err
	}
	if listed, err = d.List(ctx, j); err != nil {
		return err
	}
	if Lists(listed, name) {
		return fmt.Errorf("verify the release: the JVM still lists %s", printable.Escaped(name, maxNamed))
	}
	return nil
}
