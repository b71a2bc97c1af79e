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
	"github.com/ullage/ullage/internal/line/loggers"
)

// job is a request to change levels, from its arrival until its reply.
type job struct {
	control.Request
	answer chan control.Reply // receives one reply

	changes  []plan.Change
	errs     []error
	since    time.Time      // when the job's raise began; no other raise of a command began then
	until    time.Time      // the end of the raise that the job began
	ended    loggers.Levels // the application's raise that the job ended
	was      plan.Raise     // if had: the raise that the job's raise replaced
	had      bool           // the job's raise replaced another raise
	canceled bool           // no JVM took the raise, so the job was canceled
	deadline time.Time      // when the job is answered at the latest, even if tasks are still running
}

func newJob(r control.Request) *job {
	return &job{Request: r, answer: make(chan control.Reply, 1)}
}

// fail answers a job with an error.
func (j *job) fail(err error) { j.answer <- control.Failed(err) }

// jobs holds the jobs of a Loop. Only the goroutine of the Loop uses it, except for the channels and
// the field looking, which goroutines that answer requests use too.
type jobs struct {
	plan   *plan.Plan
	runner *runner
	update func(ctx context.Context, change func(now time.Time)) error // of the Loop

	coming chan *job
	over   chan struct{} // closed when no further job is accepted

	looking sync.Mutex // serializes list and rotate, because descriptors are few

	pending []*job // the jobs that are not answered yet
}

func newJobs(p *plan.Plan, r *runner, update func(context.Context, func(time.Time)) error) *jobs {
	return &jobs{plan: p, runner: r, update: update, coming: make(chan *job), over: make(chan struct{})}
}

// note adds the changes and errors of an update to the pending jobs.
func (s *jobs) note(changes []plan.Change, err error) {
	for _, j := range s.pending {
		j.changes = append(j.changes, changes...)
		j.errs = append(j.errs, control.Split(err)...)
	}
}

// end answers all remaining jobs.
func (s *jobs) end() {
	close(s.over)
	for _, j := range s.pending {
		j.fail(errEnds)
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
	j := newJob(r)
	select {
	case l.jobs.coming <- j:
	case <-l.jobs.over:
		return control.Failed(errEnds)
	case <-ctx.Done():
		return control.Failed(errEnds)
	}
	select {
	case out := <-j.answer:
		return out
	case <-ctx.Done(): // if end was called, it has already answered the job
	}
	select {
	case out := <-j.answer:
		return out
	default:
		return control.Failed(errEnds)
	}
}

// errEnds reports that the process is ending before it has completed the
// request.
var errEnds = errors.New("the process that manages the log levels is shutting down")

// look lists the outputs of the JVMs or rotates their files. It does not block the Loop, and it
// uses a Client of its own so as not to interfere with tasks under way.
func (l *Loop) look(ctx context.Context, r control.Request) control.Reply {
	cfg := l.cfg.Config
	cfg.Attach.PID = r.PID
	if bad := cfg.Attach.Validate(); len(bad) > 0 {
		return control.Failed(errors.Join(bad...))
	}
	l.jobs.looking.Lock()
	defer l.jobs.looking.Unlock()
	var listed []outputs.Listed
	var err error
	if talk := outputs.New(cfg); r.Verb == control.VerbRotate {
		listed, err = talk.RotateAll(ctx)
	} else {
		_, listed, err = talk.ListAll(ctx, l.raisedTo)
	}
	return control.Listing(listed, err)
}

// begin starts a job.
func (s *jobs) begin(ctx context.Context, j *job) {
	var change func(now time.Time)
	switch j.Verb {
	case control.VerbSet:
		if !j.App.IsZero() {
			change = func(now time.Time) { j.until = s.plan.State.SetApp(j.App, j.For, j.By, now) }
			break
		}
		change = func(now time.Time) { s.raise(j, now) }
	default:
		change = func(now time.Time) {
			if r, _ := s.plan.State.AppNow(now); r != nil {
				j.ended = r.Levels
			}
			s.plan.State.EndAll(plan.WhyReset, j.By, now)
			s.plan.Adoption.End(j.By)
		}
	}
	s.start(ctx, j, change)
}

// start runs the update that a job needs and leaves the job pending. If the
// update cannot run, the job fails with the reason.
func (s *jobs) start(ctx context.Context, j *job, change func(time.Time)) {
	j.deadline = time.Now().Add(answered(s.runner.timeout))
	s.pending = append(s.pending, j)
	began := false
	err := s.update(ctx, func(now time.Time) {
		began = true
		change(now)
	})
	if !began {
		j.errs = append(j.errs, err)
	}
}

// raise begins the raise of a job.
func (s *jobs) raise(j *job, now time.Time) {
	r, state := plan.Begun(j.Raise, string(plan.FromCommand), plan.WhySet, now), s.plan.State
	r.By = j.By
	j.was, j.had = state.Raises[plan.FromCommand]
	state.Raises[plan.FromCommand], j.since, j.until = r, r.Since, r.Until
}

// began reports whether the job began a raise that has not ended early.
func (j *job) began(r plan.Raise) bool { return r.Ended == "" && r.Since.Equal(j.since) }

// answerDone answers the jobs that no longer wait for a JVM. If no JVM took the raise of a job, it
// first cancels that raise.
func (s *jobs) answerDone(ctx context.Context) {
	var left []*job
	for _, j := range s.pending {
		if s.fails(j) {
			s.cancel(ctx, j)
		}
		if s.waits(j) {
			left = append(left, j)
			continue
		}
		j.report()
	}
	s.pending = left
}

// waits reports whether a job still has to wait for a JVM.
func (s *jobs) waits(j *job) bool {
	return len(s.runner.running) > 0 && time.Now().Before(j.deadline)
}

// fails reports whether no JVM accepted the raise of a job, and none had it already. In that case, it
// makes sure that the errors of the job say why.
func (s *jobs) fails(j *job) bool {
	if j.Verb != control.VerbSet || !j.App.IsZero() || j.canceled || s.waits(j) {
		return false
	}
	if late := len(s.runner.running); late > 0 {
		j.errs = append(j.errs, fmt.Errorf("%d JVMs have not answered yet", late))
	}
	if len(j.errs) == 0 {
		j.errs = control.Split(s.runner.noneToRaise(""))
	}
	raised := func(c plan.Change) bool { return !c.Restored } // other streams may have been restored for this raise
	return !slices.ContainsFunc(j.changes, raised) && !s.plan.Has(j.Raise) && len(j.errs) > 0
}

// cancel ends the raise of a job and reinstates the raise that it replaced. If a reset has ended the
// job's raise, it has ended the replaced raise as well, and nothing is reinstated. If a later job
// has replaced the job's raise and that job fails too, the later job reinstates what this job replaced.
func (s *jobs) cancel(ctx context.Context, j *job) {
	j.canceled = true
	j.deadline = time.Now().Add(answered(s.runner.timeout))
	_ = s.update(ctx, func(time.Time) { // the job gets the errors
		for _, later := range s.pending {
			if later.had && j.began(later.was) {
				later.was, later.had = j.was, j.had
			}
		}
		raises := s.plan.State.Raises
		if r, ok := raises[plan.FromCommand]; !ok || !j.began(r) {
			return
		}
		if delete(raises, plan.FromCommand); j.had {
			raises[plan.FromCommand] = j.was
		}
	})
}

// report answers a job.
func (j *job) report() {
	r := control.Failed(errors.Join(j.errs...))
	if !j.canceled {
		r.Changes, r.Until, r.App = j.changes, j.until, j.ended
	}
	j.answer <- r
}
