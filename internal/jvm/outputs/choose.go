package outputs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// MaxChosen is how many outputs of one JVM a raise may change.
const MaxChosen = 16

// Choose returns the shipped outputs of a JVM that a raise of the given streams changes. It returns
// an error if no output matches, or if one of them could not be restored.
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
