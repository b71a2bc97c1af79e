package levels

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/naming"
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

// errRemade reports an output that can no longer be restored.
var errRemade = errors.New("an output was deleted while it was raised, and the JVM created another output with that name")

// guard turns a panic into an error, so that no answer of a JVM can stop the
// sidecar from shipping. Defer guard.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("this is a bug in ullage: %v", r)
	}
}

// dialogue sends commands to JVMs and reads their replies. It keeps no state
// about a JVM. Several goroutines may use it, but not for the same JVM.
type dialogue struct {
	cfg    Config
	client *attach.Client
}

func newDialogue(cfg Config) dialogue {
	return dialogue{cfg: cfg, client: attach.New(cfg.Attach, cfg.Source)}
}

// bring reads the baseline of a JVM, or sends the JVM what the task wants.
func (d dialogue) bring(ctx context.Context, t *task) (err error) {
	defer guard(&err)
	if t.outputs == nil {
		if t.listed, err = d.list(ctx, t.jvm); err != nil {
			return err
		}
		t.learned, err = d.learn(t.jvm, t.listed, t.wanted.Stream)
		return err
	}
	if t.unsure {
		if done, err := d.check(ctx, t); done || err != nil {
			return err
		}
	}
	if t.want.IsZero() {
		return d.restore(ctx, t)
	}
	err = d.configure(ctx, t, t.want)
	if t.applied = err == nil; t.applied || attach.KindOf(err) != attach.Refused {
		return err
	}
	// HotSpot applies the matching part of a selection and refuses the rest:
	// undo that part.
	undoErr := d.undo(ctx, t)
	if t.undone = undoErr == nil; t.undone {
		return err
	}
	return fmt.Errorf("%w; taking it back: %w", err, undoErr)
}

// undo returns a JVM to the selection it had before t.
func (d dialogue) undo(ctx context.Context, t *task) error {
	if t.before.IsZero() {
		return d.restore(ctx, t)
	}
	return d.configure(ctx, t, t.before)
}

// learn keeps those of a JVM's outputs that are shipped and that a raise of
// these streams changes.
func (d dialogue) learn(j attach.JVM, outputs []attach.Output, stream string) (*baseline, error) {
	b := &baseline{PID: j.PID, Stream: stream}
	var elsewhere, others []string
	note := func(names *[]string, name string) {
		if name != "" && len(*names) < maxNames {
			*names = append(*names, printable.Escaped(name, maxShown))
		}
	}
	for _, o := range outputs {
		switch {
		case !d.ships(j, o):
			note(&elsewhere, o.File())
		case !aims(stream, j, o):
			note(&others, streamsOf(j, o)[1])
		case o.Err != nil:
			return nil, fmt.Errorf("output %s is not changed: %w", printable.Escaped(o.Name, maxNamed), o.Err)
		case len(b.Outputs) == maxOutputs:
			return nil, fmt.Errorf("it has more than %d shipped outputs: none is changed", maxOutputs)
		default:
			if _, err := attach.Configure(o, ask.Selection{}); err != nil {
				return nil, fmt.Errorf("the raise could not be restored: %w", err)
			}
			b.Outputs = append(b.Outputs, o)
		}
	}
	switch {
	case len(b.Outputs) > 0:
		return b, nil
	case len(others) > 0 && stream != "":
		return nil, otherStream(stream, others)
	case len(others) > 0:
		return nil, fmt.Errorf("%w (it has: %s)", errNoLevel, strings.Join(others, ", "))
	default:
		return nil, fmt.Errorf("%w: it has no file output in %s that matches %q (it has: %s)", errNotShipped,
			d.cfg.Source, d.cfg.Match, strings.Join(append(elsewhere, "stdout, stderr"), ", "))
	}
}

// maxNamed bounds a quoted name or configuration in an error. maxShown bounds a
// name in a list of several, and maxNames the names in it.
const (
	maxNamed = 200
	maxShown = 64
	maxNames = 3
)

// list lists the outputs of a JVM.
func (d dialogue) list(ctx context.Context, j attach.JVM) ([]attach.Output, error) {
	text, err := d.client.Run(ctx, j, attach.List())
	if err != nil {
		return nil, err
	}
	return attach.ParseList(text)
}

// ships reports whether the sidecar ships the files of the output. A name that
// is not valid UTF-8 would change when it is saved and read back.
func (d dialogue) ships(j attach.JVM, o attach.Output) bool {
	file := o.File()
	if file == "" || !utf8.ValidString(file) || !d.client.Ships(j, o) {
		return false
	}
	name := strings.Replace(expanded(j, o), timeMark, someTime, 1)
	ok, err := path.Match(d.cfg.Match, name)
	return err == nil && ok && naming.Valid(name)
}

// check lists the outputs of a JVM whose selection is uncertain. It removes
// from the task the outputs that the JVM no longer has, because a command would
// create them. done is true if the JVM already has its own selection and that
// is wanted.
func (d dialogue) check(ctx context.Context, t *task) (done bool, err error) {
	outputs, err := d.list(ctx, t.jvm)
	if err != nil {
		return false, err
	}
	t.outputs = slices.DeleteFunc(slices.Clone(t.outputs), func(was attach.Output) bool {
		return !slices.ContainsFunc(outputs, func(is attach.Output) bool { return is.Name == was.Name })
	})
	if t.want.IsZero() && compare(t.outputs, outputs) == nil {
		t.restored = true
	}
	if len(t.outputs) == 0 {
		t.restored = true // no output is left to restore
		if !t.want.IsZero() {
			return true, fmt.Errorf("%w any more", errNotShipped)
		}
	}
	return t.restored, nil
}

// configure sets every shipped output to its baseline with raise on top,
// without the tag set that would kill the JVM.
func (d dialogue) configure(ctx context.Context, t *task, raise ask.Selection) error {
	for _, o := range t.outputs {
		guarded := attach.Guard(o, raise)
		err := d.set(ctx, t.jvm, o, guarded)
		if guarded != raise && attach.Unguarded(err) {
			err = d.set(ctx, t.jvm, o, raise)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set sets one output to its baseline with raise on top.
func (d dialogue) set(ctx context.Context, j attach.JVM, o attach.Output, raise ask.Selection) error {
	cmd, err := attach.Configure(o, raise)
	if err != nil {
		return err
	}
	_, err = d.client.Run(ctx, j, cmd)
	return err
}

// restore returns a JVM to its baseline and verifies the result with a list.
func (d dialogue) restore(ctx context.Context, t *task) error {
	if err := d.configure(ctx, t, ask.Selection{}); err != nil {
		return err
	}
	outputs, err := d.list(ctx, t.jvm)
	if err != nil {
		return err
	}
	if err := compare(t.outputs, outputs); err != nil {
		return err
	}
	t.restored = true
	return nil
}

// compare returns an error if the listed outputs differ from the baseline.
func compare(baseline, listed []attach.Output) error {
	for _, was := range baseline {
		at := slices.IndexFunc(listed, func(is attach.Output) bool { return is.Name == was.Name })
		if at < 0 {
			return fmt.Errorf("verify the restored configuration: the JVM no longer lists %s", printable.Escaped(was.Name, maxNamed))
		}
		is := listed[at]
		if was.Options != is.Options {
			// No command that we send changes the options. Somebody deleted the
			// output, and the JVM created it again with default options.
			return fmt.Errorf("%w: %s has the options %s, it had %s", errRemade,
				printable.Escaped(was.Name, maxNamed), printable.Escaped(is.Options, maxNamed), printable.Escaped(was.Options, maxNamed))
		}
		if was.Selection != is.Selection || was.Decorators != is.Decorators {
			return fmt.Errorf("verify the restored configuration: %s is %s %s, it was %s %s", printable.Escaped(was.Name, maxNamed),
				printable.Escaped(is.Selection, maxNamed), is.Decorators, printable.Escaped(was.Selection, maxNamed), was.Decorators)
		}
	}
	return nil
}
