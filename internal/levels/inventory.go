package levels

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ullage/ullage/internal/attach"
)

// Listed is what a JVM logs, and where to.
type Listed struct {
	PID     int
	Outputs []ListedOutput
}

// ListedOutput is one output of a JVM. Its Err is nil: Problem has the text.
type ListedOutput struct {
	attach.Output
	Shipped bool
	Raised  string // selection on top of its own; empty: none
	Problem string // not empty: the output is left alone, and why
}

// reachable returns the JVMs that were found, and an error for those that were
// not, or if there is none.
func (d dialogue) reachable(ctx context.Context) ([]attach.JVM, error) {
	jvms, problems := d.client.Find(ctx)
	if len(jvms) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New(d.noJVM()))
	}
	return jvms, errors.Join(problems...)
}

// listAll asks every JVM for its outputs. It returns what it got and an error
// for the rest. Raised returns the selection that a JVM was raised to, by ID.
func (d dialogue) listAll(ctx context.Context, raised func(id string) string) (jvms []attach.JVM, listed []Listed, err error) {
	jvms, err = d.reachable(ctx)
	all, errs := make([]Listed, len(jvms)), make([]error, len(jvms))
	var crew sync.WaitGroup
	for i, j := range jvms {
		crew.Go(func() {
			defer guard(&errs[i])
			var outputs []attach.Output
			outputs, errs[i] = d.list(ctx, j)
			all[i] = Listed{PID: j.PID, Outputs: d.describe(j, outputs, raised(j.ID))}
		})
	}
	crew.Wait()
	some := slices.ContainsFunc(all, func(l Listed) bool { return l.Outputs != nil })
	var answered []attach.JVM
	for i, l := range all {
		if l.Outputs != nil {
			answered, listed = append(answered, jvms[i]), append(listed, l)
		}
		// A socket that a JVM left behind is of interest where there is no other.
		if errs[i] != nil && (!some || attach.KindOf(errs[i]) != attach.NoJVM) {
			err = errors.Join(err, named(jvms[i], errs[i]))
		}
	}
	return answered, listed, err
}

// describe adds to a JVM's outputs whether they are shipped and raised.
func (d dialogue) describe(j attach.JVM, outputs []attach.Output, raised string) []ListedOutput {
	var all []ListedOutput
	for _, o := range outputs {
		lo := ListedOutput{Output: o, Shipped: d.ships(j, o)}
		if lo.Shipped {
			lo.Raised = raised
		}
		if o.Err != nil {
			lo.Problem, lo.Err = o.Err.Error(), nil
		}
		all = append(all, lo)
	}
	return all
}

// rotateAll has every JVM rotate its log files, and returns those that did.
func (d dialogue) rotateAll(ctx context.Context) ([]Listed, error) {
	jvms, listed, err := d.listAll(ctx, func(string) string { return "" })
	var done []Listed
	for i, l := range listed {
		if _, runErr := d.client.Run(ctx, jvms[i], attach.Rotate()); runErr != nil {
			err = errors.Join(err, named(jvms[i], runErr))
			continue
		}
		done = append(done, l)
	}
	return done, err
}

// noJVM is the text of an error: no JVM was found, and what to do about that.
func (d dialogue) noJVM() string {
	text := "no JVM has a socket in " + d.cfg.Attach.Tmp + " (start it with -XX:+StartAttachListener, and share its /tmp"
	process := "no process that logs to " + d.cfg.Source + " is a JVM (share the process namespace"
	switch d.cfg.Attach.Mode {
	case attach.ProcessNamespace:
		return process + ")"
	case attach.SharedTmp:
		return text + "; or share the process namespace, and take --attach process-namespace)"
	}
	return text + "), and " + process + ", as for --attach process-namespace)"
}
