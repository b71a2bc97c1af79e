package levels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/ul"
)

// errand is a request to change levels, from its arrival until its reply.
type errand struct {
	control.Request
	answer chan control.Reply // receives one reply

	changes   []plan.Change
	errs      []error
	until     time.Time  // the end of the raise that the errand began
	ended     ul.Level   // the level of the application's raise that the errand ended
	was       plan.Raise // the raise that its raise replaced
	had       bool       // whether there was one
	withdrawn bool       // no JVM took the raise, so the errand was withdrawn
	deadline  time.Time  // the errand is answered then, even if tasks are still under way
}

func newErrand(r control.Request) *errand {
	return &errand{Request: r, answer: make(chan control.Reply, 1)}
}

// fail answers an errand with an error.
func (e *errand) fail(err error) { e.answer <- control.Failed(err) }

// errands are the errands of a Loop.
type errands struct {
	coming chan *errand
	over   chan struct{} // closed when no further errand is accepted

	looking sync.Mutex // serializes list and rotate: descriptors are few

	under []*errand // the errands under way
}

func newErrands() *errands {
	return &errands{coming: make(chan *errand), over: make(chan struct{})}
}

// note adds the changes and errors of an update to the errands under way.
func (s *errands) note(changes []plan.Change, err error) {
	for _, e := range s.under {
		e.changes = append(e.changes, changes...)
		e.errs = append(e.errs, control.Split(err)...)
	}
}

// end answers all remaining errands.
func (s *errands) end() {
	close(s.over)
	for _, e := range s.under {
		e.fail(errEnds)
	}
}

// answer answers a request. Several goroutines of the server call it.
func (l *Loop) answer(ctx context.Context, r control.Request) control.Reply {
	if r.Verb == control.VerbList || r.Verb == control.VerbRotate {
		return l.look(ctx, r)
	}
	if r.Verb == control.VerbSave {
		return l.saveNow(r)
	}
	e := newErrand(r)
	select {
	case l.errands.coming <- e:
	case <-l.errands.over:
		return control.Failed(errEnds)
	case <-ctx.Done():
		return control.Failed(errEnds)
	}
	select {
	case out := <-e.answer:
		return out
	case <-ctx.Done(): // if end was called, it has answered by now
	}
	select {
	case out := <-e.answer:
		return out
	default:
		return control.Failed(errEnds)
	}
}

// errEnds reports that the process is ending before it has completed the
// request.
var errEnds = errors.New("the process that keeps the levels is ending")

// look lists what the JVMs log, or rotates their files. It does not block the
// Loop, and uses a Client of its own, so that it does not interfere with tasks
// under way.
func (l *Loop) look(ctx context.Context, r control.Request) control.Reply {
	cfg := l.cfg.Config
	cfg.Attach.PID = r.PID
	if bad := cfg.Attach.Validate(); len(bad) > 0 {
		return control.Failed(errors.Join(bad...))
	}
	l.errands.looking.Lock()
	defer l.errands.looking.Unlock()
	var listed []outputs.Listed
	var err error
	if talk := outputs.New(cfg); r.Verb == control.VerbRotate {
		listed, err = talk.RotateAll(ctx)
	} else {
		_, listed, err = talk.ListAll(ctx, l.raisedTo)
	}
	return control.Listing(listed, err)
}

// begin starts an errand.
func (l *Loop) begin(ctx context.Context, e *errand) {
	var change func(now time.Time)
	switch e.Verb {
	case control.VerbSet:
		if e.App != ul.Unknown {
			change = func(now time.Time) { e.until = l.plan.State.SetApp(e.App, e.For, e.By, now) }
			break
		}
		change = func(now time.Time) { l.raise(e, now) }
	default:
		change = func(now time.Time) {
			if r, _ := l.plan.State.AppNow(now); r != nil {
				e.ended = r.Level
			}
			l.plan.State.EndAll(plan.WhyReset, e.By, now)
		}
	}
	l.pursue(ctx, e, change)
}

// pursue runs the update that an errand needs, and leaves the errand under way.
// If the update cannot run, the errand fails with the reason.
func (l *Loop) pursue(ctx context.Context, e *errand, change func(time.Time)) {
	e.deadline = time.Now().Add(answered(l.cfg.Attach.Timeout))
	l.errands.under = append(l.errands.under, e)
	began := false
	err := l.update(ctx, func(now time.Time) {
		began = true
		change(now)
	})
	if !began {
		e.errs = append(e.errs, err)
	}
}

// raise begins the raise of an errand.
func (l *Loop) raise(e *errand, now time.Time) {
	r, s := plan.Begun(e.Raise, string(plan.FromCommand), plan.WhySet, now), l.plan.State
	r.By = e.By
	e.was, e.had = s.Raises[plan.FromCommand]
	s.Raises[plan.FromCommand], e.until = r, r.Until
}

// conclude answers the errands that wait for no JVM any more.
func (l *Loop) conclude(ctx context.Context) {
	var left []*errand
	for _, e := range l.errands.under {
		if l.fails(e) {
			l.withdraw(ctx, e)
		}
		if l.pending(e) {
			left = append(left, e)
			continue
		}
		e.report()
	}
	l.errands.under = left
}

// pending reports whether an errand still has to wait for a JVM.
func (l *Loop) pending(e *errand) bool {
	return len(l.fleet.flying) > 0 && time.Now().Before(e.deadline)
}

// fails reports whether no JVM took the raise of an errand, and makes sure that
// the errand has a reason.
func (l *Loop) fails(e *errand) bool {
	if e.Verb != control.VerbSet || e.App != ul.Unknown || e.withdrawn || l.pending(e) {
		return false
	}
	if late := len(l.fleet.flying); late > 0 {
		e.errs = append(e.errs, fmt.Errorf("%d JVMs have not answered yet", late))
	}
	if len(e.errs) == 0 {
		e.errs = control.Split(l.fleet.nobody(""))
	}
	raised := func(c plan.Change) bool { return !c.Restored } // other streams may have been restored for this raise
	return !slices.ContainsFunc(e.changes, raised) && len(e.errs) > 0
}

// withdraw ends the raise of an errand and puts the raise that it replaced back
// in effect.
func (l *Loop) withdraw(ctx context.Context, e *errand) {
	e.withdrawn = true
	e.deadline = time.Now().Add(answered(l.cfg.Attach.Timeout))
	_ = l.update(ctx, func(time.Time) { // the errand gets the errors
		raises := l.plan.State.Raises
		if delete(raises, plan.FromCommand); e.had {
			raises[plan.FromCommand] = e.was
		}
	})
}

// report answers an errand.
func (e *errand) report() {
	r := control.Failed(errors.Join(e.errs...))
	if !e.withdrawn {
		r.Changes, r.Until, r.App = e.changes, e.until, e.ended
	}
	e.answer <- r
}
