package outputs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ullage/ullage/internal/jvm/attach"
)

// MaxStale is how many stale sockets a list includes at most.
const MaxStale = 16

// Listed is the log configuration of one JVM.
type Listed struct {
	PID     int
	JVM     attach.Description // empty in a result of RotateAll; a field that the JVM did not report is empty
	Stale   bool               // no process listens on the socket, which a killed JVM left; false after RotateAll
	Outputs []ListedOutput     // none if Stale
}

// ListedOutput is one output of a JVM. The field Err is always nil; Problem has the text of the
// error instead.
type ListedOutput struct {
	attach.Output
	Shipped bool
	Raised  string // the selection that a raise adds to the output's own; empty: not raised
	Problem string // why the output is not changed; empty: it may be changed

	// ByName means that a raise changes the output only if it names the stream, because the lines
	// do not show their level.
	ByName bool
}

// Streams returns the streams of the shipped outputs. found reports whether a raise of the streams
// that match a pattern changes one of them.
func (l Listed) Streams(pattern string) (names []string, found bool) {
	j := attach.JVM{PID: l.PID}
	for _, o := range l.Outputs {
		if o.Shipped {
			names = append(names, Stream(j, o.Output))
			found = found || Aims(pattern, j, o.Output)
		}
	}
	return names, found
}

// NoJVMError reports that no JVM answered and that there was no other error.
type NoJVMError struct {
	Text  string
	stale int // sockets without a listener
}

// Error includes a hint on how to make a JVM answer.
func (e *NoJVMError) Error() string {
	text := e.Text
	if e.stale > 0 {
		text += fmt.Sprintf("; no process listens on the %d sockets left there", e.stale)
	}
	return text
}

// RaisedTo returns the selection to which an output was raised, given the ID of the JVM and the
// name of the output. If empty, it was not raised.
type RaisedTo func(id, output string) string

// ListAll lists the outputs of every JVM. It returns the outputs that it received and an error for
// the rest, or a [*NoJVMError] if there are neither. A stale socket is listed and is not an error,
// unless the caller named that JVM. The JVMs describe themselves only if raised is not nil.
func (d Talk) ListAll(ctx context.Context, raised RaisedTo) (jvms []attach.JVM, listed []Listed, err error) {
	found := d.JVMs.Survey(ctx)
	problems := found.Problems
	all, errs := make([]Listed, len(found.JVMs)), make([]error, len(found.JVMs))
	var work sync.WaitGroup
	for i, j := range found.JVMs {
		work.Go(func() {
			defer Recover(&errs[i])
			all[i], errs[i] = d.listOne(ctx, j, raised)
		})
	}
	work.Wait()
	for i, j := range found.JVMs {
		switch {
		case attach.KindOf(errs[i]) == attach.NoJVM && d.cfg.Attach.PID == 0: // the JVM was killed after the search
			found.Stale = append(found.Stale, j)
		case errs[i] != nil:
			problems = append(problems, Named(j, errs[i]))
		default:
			jvms, listed = append(jvms, j), append(listed, all[i])
		}
	}
	err = errors.Join(problems...)
	if err == nil && len(listed) == 0 {
		err = &NoJVMError{Text: d.NoJVM(), stale: len(found.Stale)}
	}
	for _, j := range found.Stale[:min(len(found.Stale), MaxStale)] {
		jvms, listed = append(jvms, j), append(listed, Listed{PID: j.PID, Stale: true})
	}
	return jvms, listed, err
}

// listOne lists the outputs of a JVM. If raised is not nil, the JVM also describes
// itself.
func (d Talk) listOne(ctx context.Context, j attach.JVM, raised RaisedTo) (Listed, error) {
	l := Listed{PID: j.PID}
	outputs, err := d.List(ctx, j)
	if err != nil || raised == nil {
		l.Outputs = d.classify(j, outputs, func(string, string) string { return "" })
		return l, err
	}
	l.Outputs = d.classify(j, outputs, raised)
	l.JVM = d.Describe(ctx, j)
	return l, nil
}

// classify finds out, for each output of a JVM, whether it is shipped and raised.
func (d Talk) classify(j attach.JVM, outputs []attach.Output, raised RaisedTo) []ListedOutput {
	var all []ListedOutput
	for _, o := range outputs {
		lo := ListedOutput{Output: o, Shipped: d.Ships(j, o)}
		if lo.Shipped {
			lo.Raised, lo.ByName = raised(j.ID, o.Name), !o.HasLevel()
		}
		if o.Err != nil {
			lo.Problem, lo.Err = o.Err.Error(), nil
		}
		all = append(all, lo)
	}
	return all
}

// RotateAll rotates the log files of every JVM and returns the JVMs that have rotated them.
func (d Talk) RotateAll(ctx context.Context) ([]Listed, error) {
	jvms, listed, err := d.ListAll(ctx, nil)
	var done []Listed
	for i, l := range listed {
		if l.Stale {
			continue
		}
		if _, runErr := d.JVMs.Run(ctx, jvms[i], attach.Rotate()); runErr != nil {
			err = errors.Join(err, Named(jvms[i], runErr))
			continue
		}
		done = append(done, l)
	}
	return done, err
}

// NoJVM returns the text of the error that no JVM was found, with a hint.
func (d Talk) NoJVM() string {
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
