package levels

import (
	"context"
	"fmt"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// look finds out whether a JVM needs an output into the source and chooses the name of that output.
// It changes nothing.
func look(ctx context.Context, talk outputs.Talk, t *plan.Task) (err error) {
	if t.Listed, err = talk.List(ctx, t.JVM); err != nil {
		return err
	}
	if talk.Owns(t.JVM, t.Listed) {
		return nil
	}
	if err := talk.Held(t.JVM, t.Listed, control.Socket); err != nil {
		return err
	}
	t.Name, err = talk.OutputFor(t.JVM)
	return err
}

// give gives a JVM its output. The JVM may already have it if an earlier command reached the JVM.
// An output that is known to have its whole selection is kept: creating it again would lose lines.
// If the JVM refuses, the output is removed.
func give(ctx context.Context, talk outputs.Talk, t *plan.Task) error {
	o := t.Output
	if o.Unsure {
		listed, err := talk.List(ctx, t.JVM)
		if err != nil {
			return err
		}
		if t.Given = o.Given && outputs.Lists(listed, o.Output); t.Given {
			return nil
		}
		if err := talk.Release(ctx, t.JVM, o.Output); err != nil {
			return err
		}
	}
	err := talk.Adopt(ctx, t.JVM, o.Output, o.Selection)
	if t.Given = err == nil; t.Given || !plan.Lasting(err) && attach.KindOf(err) != attach.OtherError {
		return err
	}
	undoErr := talk.Release(ctx, t.JVM, o.Output)
	if t.Gone = undoErr == nil; t.Gone {
		return err
	}
	return fmt.Errorf("%w; taking it back: %w", err, undoErr)
}
