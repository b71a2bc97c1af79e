package levels

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/printable"
	"github.com/ullage/ullage/internal/selection"
	"github.com/ullage/ullage/internal/tail"
)

// task is one JVM that has to be brought in line. It runs beside others and
// touches nothing but itself.
type task struct {
	jvm     attach.JVM
	outputs []attach.Output // as they were before the first raise; nil: to be read
	before  selection.Selection
	unsure  bool // whether it has before, or something else
	want    selection.Selection
	from    Cause
	wanted  string // what is wanted of all JVMs; another selection than want if this one refused it

	landed chan struct{} // closed at its end

	// What became of it.
	err      error
	learned  *baseline // it was read, and that is all
	applied  bool      // it took want
	restored bool      // it has its own again, and that is verified
	undone   bool      // it refused want and has again what it had before
}

// errRemade is the error of an output that cannot be restored any more.
var errRemade = errors.New("an output was deleted while it was raised, and the JVM has made another of that name")

// errNotShipped is the error of a JVM whose log goes elsewhere.
var errNotShipped = errors.New("none of its outputs is shipped")

// guard turns a panic into an error: whatever a JVM answers, the sidecar goes on
// shipping its log. It is for defer.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("this is a bug in ullage: %v", r)
	}
}

// dialogue sends commands to JVMs and reads their answers. It keeps no state of
// a JVM, and may be used by several goroutines, but not for the same JVM.
type dialogue struct {
	cfg    Config
	client *attach.Client
}

func newDialogue(cfg Config) dialogue {
	return dialogue{cfg: cfg, client: attach.New(cfg.Attach, cfg.Source)}
}

// bring makes one JVM what it should be, or reads what it is.
func (d dialogue) bring(ctx context.Context, t *task) (err error) {
	defer guard(&err)
	if t.outputs == nil {
		t.learned, err = d.learn(ctx, t.jvm)
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
	// A selection that matches only in part is applied in part. Back to what
	// was there before it.
	undoErr := d.undo(ctx, t)
	if t.undone = undoErr == nil; t.undone {
		return err
	}
	return fmt.Errorf("%w; taking it back: %w", err, undoErr)
}

// undo returns a JVM to what it had before t.
func (d dialogue) undo(ctx context.Context, t *task) error {
	if t.before.IsZero() {
		return d.restore(ctx, t)
	}
	return d.configure(ctx, t, t.before)
}

// learn lists the outputs of a JVM and keeps those that are shipped.
func (d dialogue) learn(ctx context.Context, j attach.JVM) (*baseline, error) {
	outputs, err := d.list(ctx, j)
	if err != nil {
		return nil, err
	}
	b := &baseline{PID: j.PID}
	var elsewhere []string
	for _, o := range outputs {
		switch {
		case !d.ships(j, o):
			if file := o.File(); file != "" && len(elsewhere) < 3 {
				elsewhere = append(elsewhere, printable.Escaped(file, maxShown))
			}
		case o.Err != nil:
			return nil, fmt.Errorf("output %s is left alone: %w", printable.Escaped(o.Name, maxNamed), o.Err)
		case len(b.Outputs) == maxOutputs:
			return nil, fmt.Errorf("it has more than %d shipped outputs: none is changed", maxOutputs)
		default:
			if _, err := attach.Configure(o, selection.Selection{}); err != nil {
				return nil, fmt.Errorf("it could not be restored: %w", err)
			}
			b.Outputs = append(b.Outputs, o)
		}
	}
	if len(b.Outputs) == 0 {
		return nil, fmt.Errorf("%w: it has no file output in %s that matches %q (it has: %s)", errNotShipped,
			d.cfg.Source, d.cfg.Match, strings.Join(append(elsewhere, "stdout, stderr"), ", "))
	}
	return b, nil
}

// maxNamed bounds a quoted name or configuration in an error, and maxShown a name
// that is one of several.
const (
	maxNamed = 200
	maxShown = 64
)

// list asks a JVM for its outputs.
func (d dialogue) list(ctx context.Context, j attach.JVM) ([]attach.Output, error) {
	text, err := d.client.Run(ctx, j, attach.List())
	if err != nil {
		return nil, err
	}
	return attach.ParseList(text)
}

// ships reports whether the output is one whose files the sidecar ships. A
// name that is not valid UTF-8 would not be the same when it is read back.
func (d dialogue) ships(j attach.JVM, o attach.Output) bool {
	file := o.File()
	if file == "" || !utf8.ValidString(file) || !d.client.Ships(j, o) {
		return false
	}
	// As HotSpot expands a name: the first of each only.
	name := strings.Replace(filepath.Base(file), "%p", strconv.Itoa(j.PID), 1)
	name = strings.Replace(name, "%t", "2006-01-02_15-04-05", 1)
	ok, err := path.Match(d.cfg.Match, name)
	return err == nil && ok && tail.ValidName(name)
}

// check lists the outputs of a JVM whose selection is not certain. It reports
// true if the JVM has its own level, and that is what is wanted. A baseline that was read
// back may name what is not there: nothing is made for it.
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
		t.restored = true // there is nothing to restore
		if !t.want.IsZero() {
			return true, fmt.Errorf("%w any more", errNotShipped)
		}
	}
	return t.restored, nil
}

// configure sets every shipped output to its baseline with raise on top, but for
// what would kill the JVM.
func (d dialogue) configure(ctx context.Context, t *task, raise selection.Selection) error {
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
func (d dialogue) set(ctx context.Context, j attach.JVM, o attach.Output, raise selection.Selection) error {
	cmd, err := attach.Configure(o, raise)
	if err != nil {
		return err
	}
	_, err = d.client.Run(ctx, j, cmd)
	return err
}

// restore returns a JVM to its baseline and verifies that with a list.
func (d dialogue) restore(ctx context.Context, t *task) error {
	if err := d.configure(ctx, t, selection.Selection{}); err != nil {
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
			// Nothing that we send does that. Somebody has deleted the output,
			// and a JVM makes one that it does not know, with its defaults.
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
