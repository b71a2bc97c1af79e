package levels

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/attach"
)

// errRemade is what is said of an output that cannot be restored any more.
var errRemade = errors.New("an output was deleted while it was raised, and is there anew")

// errNotShipped is what is said of a JVM whose log goes elsewhere.
var errNotShipped = errors.New("none of its outputs is shipped")

// baselineOf asks a JVM what it logs and keeps the outputs that are ours.
func (m *Manager) baselineOf(ctx context.Context, j attach.JVM) (*baseline, error) {
	outputs, err := m.list(ctx, j)
	if err != nil {
		return nil, err
	}
	b := &baseline{PID: j.PID}
	var elsewhere []string
	for _, o := range outputs {
		switch {
		case !m.ships(j, o):
			if o.File() != "" {
				elsewhere = append(elsewhere, o.File())
			}
		case o.Err != nil:
			return nil, fmt.Errorf("output %s is left alone: %w", o.Name, o.Err)
		default:
			if _, err := attach.Configure(o, attach.Selection{}); err != nil {
				return nil, fmt.Errorf("it could not be restored: %w", err)
			}
			b.Outputs = append(b.Outputs, o)
		}
	}
	if len(b.Outputs) == 0 {
		return nil, fmt.Errorf("%w: it has no file output in %s that matches %q (it has: %s)", errNotShipped,
			m.cfg.Source, m.cfg.Match, strings.Join(append(elsewhere, "stdout, stderr"), ", "))
	}
	return b, nil
}

// list asks a JVM for its outputs.
func (m *Manager) list(ctx context.Context, j attach.JVM) ([]attach.Output, error) {
	text, err := m.client.Run(ctx, j, attach.List())
	if err != nil {
		return nil, err
	}
	return attach.ParseList(text)
}

// ships reports whether the output is one whose files the sidecar ships.
func (m *Manager) ships(j attach.JVM, o attach.Output) bool {
	file := o.File()
	if file == "" || !m.client.Ships(j, o) {
		return false
	}
	// As HotSpot expands a name: the first of each only.
	name := strings.Replace(filepath.Base(file), "%p", strconv.Itoa(j.PID), 1)
	name = strings.Replace(name, "%t", "2006-01-02_15-04-05", 1)
	ok, err := path.Match(m.cfg.Match, name)
	return err == nil && ok
}

// configure sets every shipped output to its baseline with raise on top.
func (m *Manager) configure(ctx context.Context, t *task, raise attach.Selection) error {
	for _, o := range t.base.Outputs {
		cmd, err := attach.Configure(o, raise)
		if err != nil {
			return err
		}
		if _, err := m.client.Run(ctx, t.jvm, cmd); err != nil {
			return err
		}
	}
	return nil
}

// restore returns a JVM to its baseline and looks whether it is there.
func (m *Manager) restore(ctx context.Context, t *task) error {
	if err := m.configure(ctx, t, attach.Selection{}); err != nil {
		return err
	}
	outputs, err := m.list(ctx, t.jvm)
	if err != nil {
		return err
	}
	listed := map[string]attach.Output{}
	for _, o := range outputs {
		listed[o.Name] = o
	}
	for _, was := range t.base.Outputs {
		is, ok := listed[was.Name]
		if !ok {
			return fmt.Errorf("verify the restored configuration: the JVM no longer lists %s", was.Name)
		}
		if was.Options != is.Options {
			// Nothing that we send does that. Somebody has deleted the output,
			// and a JVM makes one that it does not know, with its defaults.
			return fmt.Errorf("%w: %s has the options %s, it had %s", errRemade, was.Name, is.Options, was.Options)
		}
		if was.Selection != is.Selection || was.Decorators != is.Decorators {
			return fmt.Errorf("verify the restored configuration: %s is %s %s, it was %s %s", was.Name,
				is.Selection, is.Decorators, was.Selection, was.Decorators)
		}
	}
	t.restored = true
	return nil
}
