package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
)

// pollInterval is how long after an answer a sidecar is queried again.
const pollInterval = 300 * time.Millisecond

// verdict describes how much of the request a sidecar has carried out.
type verdict struct {
	done    []string // what has been done, one line each
	failed  []string // failures that waiting will not fix
	waiting []string // what may still happen; empty: nothing is left to wait for
	unseen  bool     // the annotations are not in effect
}

// judge reads an answer; before is the sidecar's answer before anything was requested.
type judge func(before, now *admin.Levels) verdict

// poll queries a sidecar until nothing is left to wait for, or ctx ends. If a sidecar does not answer, poll waits,
// because the sidecar may have been restarted. If the annotations were in effect and no longer are, poll fails:
// delivering them again would begin the raise again, or undo a later request.
func poll(ctx context.Context, before answer, judge judge, d *delivery) verdict {
	v := verdict{waiting: []string{"the sidecar has not been asked yet"}}
	seen, started := false, time.Time{} // the annotations were in effect, in the process that started then
	for {
		_, st, err := before.of.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return v
		case err != nil:
			v = verdict{waiting: []string{err.Error()}}
		default:
			v = judge(before.status.Levels, st.Levels)
			switch {
			case len(v.waiting) == 0:
				return v
			case !v.unseen:
				seen, started = true, st.Started
			case seen && !st.Started.Equal(started): // a process that was restarted may not have read the annotations yet
				v.unseen = false
			case seen:
				v.waiting = []string{overtaken}
			}
		}
		if v.unseen && d.unseen(ctx, seen) {
			return verdict{failed: v.waiting}
		}
		select {
		case <-ctx.Done():
			return v
		case <-time.After(pollInterval):
		}
	}
}

// overtaken is the failure if the annotations were in effect, but are no longer.
const overtaken = "the raise ended, or another request replaced this one, before every JVM had followed"

// levelsOff reports whether a sidecar does not change levels.
func levelsOff(l *admin.Levels) bool { return l == nil || l.Off }

// whyOff returns why the sidecar of an answer does not change levels, and what to do. Usually the injector, not a
// person, has set --attach off, because the pod does not name the user of the JVM or has no shared /tmp. The
// injector's warnings say so.
func (a answer) whyOff() error {
	if u := a.status.JVMUser; u != nil {
		return fmt.Errorf("the sidecar cannot change log levels, because it does not run as the JVM's user: %s in the securityContext of the pod template", u.Advice)
	}
	var warned []string
	for _, text := range a.of.warnings {
		if strings.Contains(text, "log levels") {
			warned = append(warned, text)
		}
	}
	if len(warned) > 0 {
		return fmt.Errorf("the sidecar does not change log levels; the injector's reason: %s", strings.Join(warned, "; "))
	}
	return errOff
}

// errOff is the error if the sidecar is set not to change levels.
var errOff = fmt.Errorf("the sidecar does not change log levels: it runs with --attach off (annotation %sattach)", ask.Prefix)

// cannotRaise returns why the annotations would have no effect.
func (w wanted) cannotRaise(l *admin.Levels) error {
	switch {
	case levelsOff(l):
		return errOff
	case w.app && l.App != nil && l.App.Cause == fromCommand:
		return fmt.Errorf("'ullage levels set' has raised the application's events to %s until %s, and a command overrides annotations: "+
			"end that raise first, with 'ullage levels reset' in the sidecar", l.App.Level, printable.Until(l.App.Until))
	case w.app:
		return nil
	case l.Raise != nil && l.Raise.Cause == fromCommand:
		return fmt.Errorf("'ullage levels set' has raised the level to %s until %s, and a command overrides annotations: "+
			"end that raise first, with 'ullage levels reset' in the sidecar", l.Raise.Selection, printable.Until(l.Raise.Until))
	}
	return nil
}

// wanted is the raise that the annotations request. No other raise has its ID.
type wanted struct {
	selection string
	lasts     time.Duration
	id        string
	stream    string // a pattern that restricts the streams; empty: all streams whose lines show their level
	app       bool   // the selection is for the application's loggers
}

// idKey returns the key of the annotation that has the ID.
func (w wanted) idKey() string {
	if w.app {
		return appLogIDKey
	}
	return logIDKey
}

// judge implements [judge] for a raise.
func (w wanted) judge(_, now *admin.Levels) verdict {
	if err := w.cannotRaise(now); err != nil {
		return verdict{failed: []string{err.Error()}}
	}
	for _, a := range now.Annotations {
		if w.wrote(a) {
			return verdict{failed: []string{fmt.Sprintf("the sidecar refuses the annotation %s %q: %s", a.Key, a.Value, a.Problem)}}
		}
	}
	unseen := verdict{unseen: true, waiting: append([]string{"the sidecar has not seen the annotations yet (it needs --annotations)"}, now.Errors...)}
	if w.app {
		if now.App == nil || now.App.Level != w.selection || now.App.ID != w.id {
			return unseen
		}
		return verdict{done: []string{fmt.Sprintf("the application's events are raised to %s until %s, in %s", w.selection, printable.Until(now.App.Until), w.lasts)}}
	}
	r := now.Raise
	if r == nil || r.Cause != fromAnnotation || r.Selection != w.selection || r.ID != w.id || r.Stream != w.stream {
		return unseen
	}
	v := judgeJVMs(now, w.selection)
	if len(v.done) > 0 {
		v.done = append(v.done, fmt.Sprintf("until %s, in %s", printable.Until(r.Until), w.lasts))
	}
	return v
}

// wrote reports whether this command wrote the bad annotation, which may also be left from an earlier command. A long
// value is shortened in the status.
func (w wanted) wrote(a admin.Annotation) bool {
	ours := map[string]string{logKey: w.selection, logForKey: w.lasts.String(), logIDKey: w.id, logStreamKey: w.stream}[a.Key]
	if w.app {
		ours = map[string]string{appLogKey: w.selection, appLogForKey: w.lasts.String(), appLogIDKey: w.id}[a.Key]
	}
	return a.Value != "" && strings.HasPrefix(ours, strings.TrimSuffix(a.Value, "…"))
}

// Causes of a raise, as in a sidecar's status.
const (
	fromAnnotation = "annotation"
	fromCommand    = "command"
)

// hopeless are the kinds of errors that a JVM's next answer will not fix.
var hopeless = []string{"refused", "not_permitted", "too_old"}

// judgeJVMs checks whether every JVM has the selection. A JVM whose error is not in l.Errors does not belong to the
// sidecar: it logs elsewhere, or has ended.
func judgeJVMs(l *admin.Levels, selection string) verdict {
	var v verdict
	var others []string
	for _, j := range l.JVMs {
		switch {
		case j.Applied == selection && j.Error == "":
			v.done = append(v.done, fmt.Sprintf("pid %d: %s in addition to its own, on %s", j.PID, selection, strings.Join(j.Outputs, ", ")))
		case j.Error == "":
			v.waiting = append(v.waiting, fmt.Sprintf("pid %d does not have it yet", j.PID))
		case !slices.Contains(l.Errors, j.Error):
			others = append(others, j.Error)
		case slices.Contains(hopeless, j.Kind):
			v.failed = append(v.failed, j.Error)
		default:
			v.waiting = append(v.waiting, j.Error)
		}
	}
	if len(v.done)+len(v.failed)+len(v.waiting) == 0 { // there is no JVM of ours, but one may have just been started
		v.waiting = slices.Concat(others, l.Errors)
		if len(v.waiting) == 0 {
			v.waiting = []string{"no JVM was found yet"}
		}
	}
	return v
}

// judgeReset implements [judge] for a reset. After a reset, a raise other than the annotation's may be in effect.
func judgeReset(before, now *admin.Levels) verdict {
	if now == nil {
		return verdict{done: []string{"the sidecar does not change log levels"}}
	}
	if now.App != nil && now.App.Cause == fromAnnotation {
		return verdict{unseen: true, waiting: []string{"the sidecar has not yet seen that the annotations are gone"}}
	}
	if r := now.Raise; r != nil {
		if r.Cause == fromAnnotation {
			return verdict{unseen: true, waiting: []string{"the sidecar has not yet seen that the annotations are gone"}}
		}
		return verdict{done: []string{fmt.Sprintf("still raised to %s until %s: %s", r.Selection, printable.Until(r.Until), r.Why)}}
	}
	var v verdict
	for _, j := range now.JVMs {
		switch {
		case j.Applied == "":
		case j.Error != "":
			v.waiting = append(v.waiting, j.Error)
		default:
			v.waiting = append(v.waiting, fmt.Sprintf("pid %d still has %s", j.PID, j.Applied))
		}
	}
	if len(v.waiting) > 0 {
		return v
	}
	if before != nil {
		if before.App != nil && now.App == nil {
			v.done = append(v.done, "the application's events are back at their own levels, without "+before.App.Level)
		}
		for _, j := range before.JVMs {
			if j.Applied != "" {
				v.done = append(v.done, fmt.Sprintf("pid %d is back at its own level, without %s", j.PID, j.Applied))
			}
		}
	}
	if len(v.done) == 0 {
		v.done = []string{"nothing was raised"}
	}
	v.failed = now.Errors
	return v
}
