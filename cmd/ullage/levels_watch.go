package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/ship/ring"
)

// watchList prints the list again until ctx ends.
func (c *levelsConfig) watchList(ctx context.Context, e cli.Env) int {
	return e.Watch(ctx, c.verb, func(ctx context.Context) (string, error) {
		var text strings.Builder
		err := c.render(ctx, control.NewCommand(c.levels), &text, &text)
		return text.String(), err
	})
}

// list prints the JVMs, their outputs and their rings.
func (c *levelsConfig) list(ctx context.Context, m *control.Command, e cli.Env) error {
	var text strings.Builder
	err := c.render(ctx, m, &text, e.Stderr)
	_, printErr := io.WriteString(e.Stdout, text.String())
	return errors.Join(err, printErr)
}

// render writes the list to w. A problem that is not a failure, such as one of several JVMs that does not answer,
// goes to notes.
func (c *levelsConfig) render(ctx context.Context, m *control.Command, w, notes io.Writer) error {
	listed, err := m.List(ctx)
	isStale := func(l outputs.Listed) bool { return l.Stale }
	var none *outputs.NoJVMError
	if !slices.ContainsFunc(listed, func(l outputs.Listed) bool { return !l.Stale }) && !errors.As(err, &none) {
		return err
	}
	if err != nil { // some JVMs have answered, or there is no JVM, which is not a failure
		fmt.Fprintf(notes, "ullage levels list: %s\n", printable.Line(err.Error()))
	}
	if !c.all {
		listed = slices.DeleteFunc(listed, isStale)
	}
	rings, ringErr := ring.Survey(c.tail.Source)
	if c.json {
		return errors.Join(ringErr, printListJSON(w, listed, rings))
	}
	if len(listed) > 0 {
		if err := printList(w, listed); err != nil {
			return err
		}
	}
	return errors.Join(ringErr, printRings(w, rings, len(listed) > 0))
}
