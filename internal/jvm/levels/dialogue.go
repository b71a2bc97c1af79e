package levels

import (
	"context"
	"fmt"
	"slices"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
)

// task reconciles one JVM. Tasks run concurrently, and share no data.
type task struct {
	jvm     attach.JVM
	outputs []attach.Output // as they were before the first raise; nil: not read yet
	before  ask.Selection
	unsure  bool // the JVM may have another selection than before
	want    ask.Selection
	from    Cause
	wanted  goal // of all JVMs; the task wants something else if this JVM refused it, or is to be restored first

	landed chan struct{} // closed when the task ends

	// The results of the task.
	err      error
	listed   []attach.Output // all outputs, where the baseline was to be read
	learned  *baseline       // the baseline was read, and nothing was changed
	applied  bool            // the JVM took want
	restored bool            // the JVM has its own selection again; a list verified that
	undone   bool            // the JVM refused want and has before again
}

// bring reads the baseline of a JVM, or sends the JVM what the task wants.
func bring(ctx context.Context, talk outputs.Talk, t *task) (err error) {
	defer outputs.Recover(&err)
	if t.outputs == nil {
		if t.listed, err = talk.List(ctx, t.jvm); err != nil {
			return err
		}
		chosen, err := talk.Choose(t.jvm, t.listed, t.wanted.Stream)
		if err == nil {
			t.learned = &baseline{PID: t.jvm.PID, Outputs: chosen, Stream: t.wanted.Stream}
		}
		return err
	}
	if t.unsure {
		if done, err := check(ctx, talk, t); done || err != nil {
			return err
		}
	}
	if t.want.IsZero() {
		return restore(ctx, talk, t)
	}
	err = talk.Configure(ctx, t.jvm, t.outputs, t.want)
	if t.applied = err == nil; t.applied || attach.KindOf(err) != attach.Refused {
		return err
	}
	// HotSpot applies the matching part of a selection and refuses the rest:
	// undo that part.
	undoErr := undo(ctx, talk, t)
	if t.undone = undoErr == nil; t.undone {
		return err
	}
	return fmt.Errorf("%w; taking it back: %w", err, undoErr)
}

// undo returns a JVM to the selection it had before t.
func undo(ctx context.Context, talk outputs.Talk, t *task) error {
	if t.before.IsZero() {
		return restore(ctx, talk, t)
	}
	return talk.Configure(ctx, t.jvm, t.outputs, t.before)
}

// check lists the outputs of a JVM whose selection is uncertain. It removes
// from the task the outputs that the JVM no longer has, because a command would
// create them. done is true if the JVM already has its own selection and that
// is wanted.
func check(ctx context.Context, talk outputs.Talk, t *task) (done bool, err error) {
	listed, err := talk.List(ctx, t.jvm)
	if err != nil {
		return false, err
	}
	t.outputs = slices.DeleteFunc(slices.Clone(t.outputs), func(was attach.Output) bool {
		return !slices.ContainsFunc(listed, func(is attach.Output) bool { return is.Name == was.Name })
	})
	if t.want.IsZero() && outputs.Compare(t.outputs, listed) == nil {
		t.restored = true
	}
	if len(t.outputs) == 0 {
		t.restored = true // no output is left to restore
		if !t.want.IsZero() {
			return true, fmt.Errorf("%w any more", outputs.ErrNotShipped)
		}
	}
	return t.restored, nil
}

// restore returns a JVM to its baseline and verifies the result with a list.
func restore(ctx context.Context, talk outputs.Talk, t *task) error {
	if err := talk.Configure(ctx, t.jvm, t.outputs, ask.Selection{}); err != nil {
		return err
	}
	listed, err := talk.List(ctx, t.jvm)
	if err != nil {
		return err
	}
	if err := outputs.Compare(t.outputs, listed); err != nil {
		return err
	}
	t.restored = true
	return nil
}
