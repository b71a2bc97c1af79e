package levels

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ullage/ullage/internal/attach"
)

// Listed is the log configuration of one JVM.
type Listed struct {
	PID     int
	Outputs []ListedOutput
}

// ListedOutput is one output of a JVM. Its Err is nil; Problem has the text of
// the error.
type ListedOutput struct {
	attach.Output
	Shipped bool
	Raised  string // the selection on top of its own; empty: none
	Problem string // why the output is not changed; empty: it may be changed
}

// NoJVMError reports that no JVM answered and that there was no other error.
type NoJVMError struct {
	text  string
	stale int // sockets without a listener
	more  int // sockets that were not checked
}

// Error includes a hint on how to make a JVM answer.
func (e *NoJVMError) Error() string {
	text := e.text
	if e.stale > 0 {
		text += fmt.Sprintf("; no process listens on the %d sockets left there", e.stale)
	}
	if e.more > 0 {
		text += fmt.Sprintf(", and %d older ones were not checked", e.more)
	}
	return text
}

// listAll lists the outputs of every JVM. It returns the outputs that it got
// and an error for the rest, or a [*NoJVMError] if there is neither. It does
// not report a stale socket unless the caller named that JVM. raised returns
// the selection that a JVM was raised to, by ID.
func (d dialogue) listAll(ctx context.Context, raised func(id string) string) (jvms []attach.JVM, listed []Listed, err error) {
	found, problems := d.client.Find(ctx)
	all, errs := make([]Listed, len(found)), make([]error, len(found))
	var crew sync.WaitGroup
	for i, j := range found {
		crew.Go(func() {
			defer guard(&errs[i])
			var outputs []attach.Output
			outputs, errs[i] = d.list(ctx, j)
			all[i] = Listed{PID: j.PID, Outputs: d.describe(j, outputs, raised(j.ID))}
		})
	}
	crew.Wait()
	none := &NoJVMError{text: d.noJVM()}
	for i, l := range all {
		if l.Outputs != nil {
			jvms, listed = append(jvms, found[i]), append(listed, l)
		}
		if attach.KindOf(errs[i]) == attach.NoJVM && d.cfg.Attach.PID == 0 {
			none.stale++
		} else if errs[i] != nil {
			problems = append(problems, named(found[i], errs[i]))
		}
	}
	if len(listed) == 0 && len(problems) == 1 {
		// Stale sockets are no failure, however many there are.
		if more := (*attach.MoreError)(nil); errors.As(problems[0], &more) && none.stale > 0 {
			none.more, problems = more.Left, nil
		}
	}
	if err := errors.Join(problems...); err != nil || len(listed) > 0 {
		return jvms, listed, err
	}
	return nil, nil, none
}

// describe notes for each output of a JVM whether it is shipped and raised.
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

// rotateAll rotates the log files of every JVM, and returns the JVMs that did
// so.
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

// noJVM returns the text of an error: no JVM was found, with a hint.
func (d dialogue) noJVM() string {
	text := "no JVM has a socket in " + d.cfg.Attach.Tmp + " (start it with -XX:+StartAttachListener, and share its /tmp"
	process := "no process that logs to " + d.cfg.Source + " is a JVM (share the process namespace"
	switch d.cfg.Attach.Mode {
	case attach.ProcessNamespace:
		return process + ")"
	case attach.SharedTmp:
		return text + "; or share the process namespace, and use --attach process-namespace)"
	}
	return text + "), and " + process + ", as for --attach process-namespace)"
}
