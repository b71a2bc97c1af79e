package outputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// ErrElsewhere reports a JVM whose output could not be placed in the source.
var ErrElsewhere = errors.New("it cannot log into the source")

// Owns reports whether one of a JVM's outputs is shipped.
func (d Talk) Owns(j attach.JVM, listed []attach.Output) bool {
	return slices.ContainsFunc(listed, func(o attach.Output) bool { return d.Ships(j, o) })
}

// Lists reports whether a JVM lists an output of that name.
func Lists(listed []attach.Output, name string) bool {
	return slices.ContainsFunc(listed, func(o attach.Output) bool { return o.Name == name })
}

// OutputFor returns the name of the output to give to a JVM that has no output in the source.
// It is the name that the injector would have chosen. The error wraps [ErrElsewhere] if the
// JVM cannot have such an output.
func (d Talk) OutputFor(j attach.JVM) (name string, err error) {
	dir, err := d.JVMs.SourcePath(j)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrElsewhere, err)
	}
	if strings.Contains(dir, "%") {
		return "", fmt.Errorf("%w: %s has a %%, which the JVM would expand: rename the directory", ErrElsewhere, printable.Escaped(dir, maxNamed))
	}
	name = attach.FileOutput(filepath.Join(dir, ask.OutputFile))
	if !d.Ships(j, attach.Output{Name: name}) {
		return "", fmt.Errorf("%w: --match %q does not match %s", ErrElsewhere, d.cfg.Match, ask.OutputFile)
	}
	return name, nil
}

// Adopt gives a JVM an output. Call it only if the JVM does not list that output. Even if Adopt
// fails, the JVM may have the output, with all or part of the selection: remove it with
// [Talk.Release]. The error wraps [ErrElsewhere] if the JVM has the output and its file is not
// in the source.
func (d Talk) Adopt(ctx context.Context, j attach.JVM, name string, what ask.Selection) error {
	o := attach.Output{Name: name, Selection: "all=off", Decorators: ask.OutputDecorators, Options: cmp.Or(d.cfg.Options, ask.OutputOptions)}
	guarded := attach.Guard(o, what)
	err := d.create(ctx, j, o, guarded)
	if guarded != what && attach.Unguarded(err) {
		if err = d.Release(ctx, j, name); err == nil {
			err = d.create(ctx, j, o, what)
		}
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(d.cfg.Source, expanded(j, o))); err != nil {
		return fmt.Errorf("%w: its %s is not the directory that is shipped: %w", ErrElsewhere, printable.Escaped(filepath.Dir(o.File()), maxNamed), err)
	}
	return nil
}

func (d Talk) create(ctx context.Context, j attach.JVM, o attach.Output, what ask.Selection) error {
	cmd, err := attach.Create(o, what)
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

// ErrHeld reports a JVM that another process has adopted.
var ErrHeld = errors.New("it is adopted already")

// Held returns an error that wraps [ErrHeld] if another sidecar has adopted the JVM, which then
// logs to the source of that sidecar. That sidecar listens on a socket, whose path below its source
// is given.
func (d Talk) Held(j attach.JVM, listed []attach.Output, socket string) error {
	for _, o := range listed {
		if !o.Reconfigured || filepath.Base(o.File()) != ask.OutputFile || d.Ships(j, o) {
			continue
		}
		if pid, listens := j.ListenerBeside(o, socket); listens {
			return fmt.Errorf("%w: process %d ships its %s", ErrHeld, pid, printable.Escaped(o.File(), maxNamed))
		}
	}
	return nil
}
