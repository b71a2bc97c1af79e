package outputs

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/naming"
)

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

// Owns reports whether one of a JVM's outputs is shipped.
func (d Talk) Owns(j attach.JVM, listed []attach.Output) bool {
	return slices.ContainsFunc(listed, func(o attach.Output) bool { return d.Ships(j, o) })
}

// Lists reports whether a JVM lists an output of that name.
func Lists(listed []attach.Output, name string) bool {
	return slices.ContainsFunc(listed, func(o attach.Output) bool { return o.Name == name })
}

// MaxChosen is how many outputs of one JVM a raise may change.
const MaxChosen = 16

// Choose returns the shipped outputs of a JVM that a raise of the given streams changes. It returns
// an error if no output matches, if more than [MaxChosen] match, or if a matching output could not be
// restored afterwards.
func (d Talk) Choose(j attach.JVM, listed []attach.Output, stream string) (chosen []attach.Output, err error) {
	var elsewhere, others []string
	note := func(names *[]string, name string) {
		if name != "" && len(*names) < maxNames {
			*names = append(*names, printable.Escaped(name, maxShown))
		}
	}
	for _, o := range listed {
		switch {
		case !d.Ships(j, o):
			note(&elsewhere, o.File())
		case !Aims(stream, j, o):
			note(&others, Stream(j, o))
		case o.Err != nil:
			return nil, fmt.Errorf("output %s is not changed: %w", printable.Escaped(o.Name, maxNamed), o.Err)
		case len(chosen) == MaxChosen:
			return nil, fmt.Errorf("it has more than %d shipped outputs: none is changed", MaxChosen)
		default:
			if _, err := attach.Configure(o, ask.Selection{}); err != nil {
				return nil, fmt.Errorf("the raise could not be restored: %w", err)
			}
			chosen = append(chosen, o)
		}
	}
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(others) > 0 && stream != "":
		return nil, OtherStream(stream, others)
	case len(others) > 0:
		return nil, fmt.Errorf("%w (it has: %s)", ErrNoLevel, strings.Join(others, ", "))
	default:
		return nil, fmt.Errorf("%w: it has no file output in %s that matches %q (it has: %s)", ErrNotShipped,
			d.cfg.Source, d.cfg.Match, strings.Join(append(elsewhere, "stdout, stderr"), ", "))
	}
}

// ErrRemade reports an output that can no longer be restored.
var ErrRemade = errors.New("an output was deleted while it was raised, and the JVM created another output with that name")

// Compare returns an error if an output of the baseline is missing from the list or differs from
// it.
func Compare(baseline, listed []attach.Output) error {
	for _, was := range baseline {
		at := slices.IndexFunc(listed, func(is attach.Output) bool { return is.Name == was.Name })
		if at < 0 {
			return fmt.Errorf("verify the restored configuration: the JVM no longer lists %s", printable.Escaped(was.Name, maxNamed))
		}
		is := listed[at]
		if was.Options != is.Options {
			// No command that we send changes the options. The output was
			// deleted, and the JVM created it again with default options.
			return fmt.Errorf("%w: %s has the options %s, it had %s", ErrRemade,
				printable.Escaped(was.Name, maxNamed), printable.Escaped(is.Options, maxNamed), printable.Escaped(was.Options, maxNamed))
		}
		if was.Selection != is.Selection || was.Decorators != is.Decorators {
			return fmt.Errorf("verify the restored configuration: %s is %s %s, it was %s %s", printable.Escaped(was.Name, maxNamed),
				printable.Escaped(is.Selection, maxNamed), is.Decorators, printable.Escaped(was.Selection, maxNamed), was.Decorators)
		}
	}
	return nil
}

// ErrElsewhere reports a JVM whose output could not be placed in the source.
var ErrElsewhere = errors.New("it cannot log into the source")

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

// ErrHeld reports a JVM that another process has adopted.
var ErrHeld = errors.New("it is adopted already")

// Held returns an error that wraps [ErrHeld] if another sidecar has adopted the JVM, which then
// logs to the source of that sidecar. socket is the path, relative to a source, of the socket on which
// the source's sidecar listens.
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
