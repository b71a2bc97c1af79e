package levels

import (
	"context"
	"fmt"
	"slices"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// bring carries out the task: it reads the baseline of a JVM, or changes the JVM.
func bring(ctx context.Context, talk outputs.Talk, t *plan.Task) (err error) {
	defer outputs.Recover(&err)
	switch t.Step {
	case plan.Look:
		return look(ctx, talk, t)
	case plan.Give:
		return give(ctx, talk, t)
	case plan.Take:
		err := talk.Release(ctx, t.JVM, t.Output.Output)
		t.Gone = err == nil
		return err
	}
	if t.Outputs == nil {
		if t.Listed, err = talk.List(ctx, t.JVM); err != nil {
			return err
		}
		t.Chosen, err = talk.Choose(t.JVM, t.Listed, t.Goal.Stream)
		return err
	}
	if t.Unsure {
		if done, err := check(ctx, talk, t); done || err != nil {
			return err
		}
	}
	if t.Want.IsZero() {
		return restore(ctx, talk, t)
	}
	err = talk.Configure(ctx, t.JVM, t.Outputs, t.Want)
	if t.Applied = err == nil; t.Applied || attach.KindOf(err) != attach.Refused {
		return err
	}
	// HotSpot applies the matching part of a selection and refuses the rest:
	// undo that part.
	undoErr := undo(ctx, talk, t)
	if t.Undone = undoErr == nil; t.Undone {
		return err
	}
	return fmt.Errorf("%w; undoing the change failed, too: %w", err, undoErr)
}

// undo returns a JVM to the selection it had before t.
func undo(ctx context.Context, talk outputs.Talk, t *plan.Task) error {
	if t.Before.IsZero() {
		return restore(ctx, talk, t)
	}
	return talk.Configure(ctx, t.JVM, t.Outputs, t.Before)
}

// check lists the outputs of a JVM whose selection is uncertain. It removes from the task the
// outputs that the JVM no longer has, because a command would create them. done is true if nothing
// is left to send: the JVM already has its own selection and the task wants that, or none of its
// outputs is left.
func check(ctx context.Context, talk outputs.Talk, t *plan.Task) (done bool, err error) {
	listed, err := talk.List(ctx, t.JVM)
	if err != nil {
		return false, err
	}
	t.Outputs = slices.DeleteFunc(slices.Clone(t.Outputs), func(was attach.Output) bool {
		return !slices.ContainsFunc(listed, func(is attach.Output) bool { return is.Name == was.Name })
	})
	if t.Want.IsZero() && outputs.Compare(t.Outputs, listed) == nil {
		t.Restored = true
	}
	if len(t.Outputs) == 0 {
		t.Restored = true // no output is left to restore
		if !t.Want.IsZero() {
			return true, fmt.Errorf("%w any more", outputs.ErrNotShipped)
		}
	}
	return t.Restored, nil
}

// restore returns a JVM to its baseline and verifies the result with a list.
func restore(ctx context.Context, talk outputs.Talk, t *plan.Task) error {
	if err := talk.Configure(ctx, t.JVM, t.Outputs, ask.Selection{}); err != nil {
		return err
	}
	listed, err := talk.List(ctx, t.JVM)
	if err != nil {
		return err
	}
	if err := outputs.Compare(t.Outputs, listed); err != nil {
		return err
	}
	t.Restored = true
	return nil
}

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
	return fmt.Errorf("%w; undoing the change failed, too: %w", err, undoErr)
}
