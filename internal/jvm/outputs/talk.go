package outputs

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/naming"
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

// Configure sets outputs of a JVM to their baseline, followed by raise. It leaves out the tag set
// that would kill the JVM.
func (d Talk) Configure(ctx context.Context, j attach.JVM, outputs []attach.Output, raise ask.Selection) error {
	for _, o := range outputs {
		guarded := attach.Guard(o, raise)
		err := d.set(ctx, j, o, guarded)
		if guarded != raise && attach.Unguarded(err) {
			err = d.set(ctx, j, o, raise)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set sets one output to its baseline, followed by raise.
func (d Talk) set(ctx context.Context, j attach.JVM, o attach.Output, raise ask.Selection) error {
	cmd, err := attach.Configure(o, raise)
	if err != nil {
		return err
	}
	_, err = d.JVMs.Run(ctx, j, cmd)
	return err
}

// Ships reports whether the sidecar ships the files of the output. A name must be valid UTF-8,
// because any other name would change when it is saved and read back.
func (d Talk) Ships(j attach.JVM, o attach.Output) bool {
	file := o.File()
	if file == "" || !utf8.ValidString(file) || !d.JVMs.Ships(j, o) {
		return false
	}
	name := strings.Replace(expanded(j, o), timeMark, someTime, 1)
	ok, err := path.Match(d.cfg.Match, name)
	return err == nil && ok && naming.Valid(name)
}
