package levels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/mark"
)

const (
	// pollInterval is how often the Loop checks the annotations file, the lock and the socket while
	// there is work. A poll notices a swapped directory too. Unless [Loop.Annotated] is called, only
	// a poll notices a change of the file.
	pollInterval = control.KeepInterval

	// idleInterval is the same interval while no level is raised. It equals the interval of the
	// reader's poll, so that an idle process wakes up once for both.
	idleInterval = time.Second

	// adoptLooks is how many consecutive ticks look for JVMs to adopt after something in the pod
	// has changed: a process that has just started may need ten seconds to become a JVM that
	// listens.
	adoptLooks = 20

	// drainTimeout bounds the restore when the process ends.
	drainTimeout = 5 * time.Second
)

// Loop keeps the JVMs at the wanted log levels while its process runs. Each
// source has one Loop. Only the Loop sends JVMs commands that change levels,
// and its state in memory is authoritative. Create it with [New].
type Loop struct {
	cfg      Config
	log      *slog.Logger
	to       Outlets
	notes    *annotations
	triggers *trigger.Set
	plan     *plan.Plan
	memory   memory
	runner   *runner
	reporter reporter
	owner    *control.Owner
	jobs     *jobs

	search attach.Search // of JVMs to adopt

	alarm *trigger.Alarm // a firing that has not become a raise yet
	next  time.Time      // when the next update is due if nothing changes before
	until time.Time      // the end of the raise that the last update found in effect; zero: none

	mu    sync.Mutex
	shown Status
}

// Outlets are the functions to which a Loop passes whatever does not concern a JVM. None may block,
// and each may be nil.
type Outlets struct {
	// AppLevels is called at each update with the levels at which events of the application's
	// loggers are wanted. Zero leaves the levels to the application. If nil, they cannot be raised.
	AppLevels func(loggers.Levels)

	// Mark is called with each raise and restore. If nil, no marks are written.
	Mark func(mark.Mark)

	// Save is called by several goroutines, each time that withheld lines are to be saved, with the
	// kind of the cause and a human-readable reason. If nil, no lines are held.
	Save func(cause, why string) (control.Saving, error)
}

// New returns a Loop for a valid cfg. The Loop raises when the raising trigger fires. New has no
// side effects except that it registers metrics.
func New(cfg Config, triggers *trigger.Set, to Outlets, reg prometheus.Registerer, log *slog.Logger) *Loop {
	m, talk, file := newMetrics(reg), outputs.New(cfg.Config), plan.NewFile(cfg.Source)
	p := plan.New(talk.Ships, log)
	l := &Loop{
		cfg: cfg, log: log, to: to, notes: newAnnotations(cfg.Annotations, cfg.Known), triggers: triggers, plan: p,
		memory:   memory{file: file, plan: p, log: log},
		runner:   &runner{plan: p, file: file, talk: talk, timeout: cfg.Attach.Timeout, metrics: m, running: map[string]*running{}, done: make(chan struct{}, 1)},
		reporter: reporter{log: log, metrics: m, mark: to.Mark, holding: map[string]bool{}},
		search:   attach.Search{Looks: adoptLooks},
		shown:    Status{Off: cfg.Attach.Mode == attach.Off},
	}
	l.jobs = newJobs(p, l.runner, l.update)
	l.owner = control.NewOwner(cfg.Source, l.answer)
	return l
}

// Annotated makes the Loop look at the annotations now, instead of at its next poll. It does not
// block and is safe for concurrent use.
func (l *Loop) Annotated() {
	select {
	case l.notes.changed <- struct{}{}:
	default: // an earlier signal is still pending
	}
}

// Run manages the levels until ctx ends, then restores the JVMs. It retries a JVM that does not
// answer and a source that is missing. It returns an error only if a JVM may be left with a raised
// level or with the output of --adopt. If --attach is off, it only reads the annotations, for the
// status. Run calls released after ctx has ended, as soon as no JVM writes to an output of --adopt,
// and at the latest when it returns. It may call released more than once.
func (l *Loop) Run(ctx context.Context, released func()) error {
	defer released()
	if l.cfg.Attach.Mode == attach.Off {
		if l.cfg.Annotations != "" {
			// messages.md#log-levels: `--attach` is `off`. `ullage status` shows a trigger that can
			// therefore never fire.
			l.log.Info("log levels are not changed", "hint", "--attach is off")
		}
		l.read(ctx)
		return nil
	}
	defer l.close()
	l.owner.Await(ctx)
	l.turn(ctx)
	if len(l.plan.State.Adopted) == 0 {
		released()
	}
	return l.drain(context.WithoutCancel(ctx))
}

// read reads the annotations until ctx ends, and changes nothing.
func (l *Loop) read(ctx context.Context) {
	tick := kernel.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if now := time.Now(); l.notes.poll(now) {
			l.reporter.annotations(l.notes)
			l.saveAnnotated()
			l.show(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// turn handles events until ctx ends.
func (l *Loop) turn(ctx context.Context) {
	interval := pollInterval
	tick := kernel.NewTicker(interval)
	defer tick.Stop()
	l.tick(ctx)
	for {
		if i := between(time.Now(), l.next); i != interval {
			interval = i
			tick.Reset(i)
		}
		var end <-chan time.Time
		if !l.until.IsZero() {
			end = time.After(time.Until(l.until))
		}
		select {
		case <-ctx.Done():
			return
		case a := <-l.triggers.Fired():
			l.alarm = &a
			l.update(ctx, nil)
		case <-l.runner.done:
			l.update(ctx, nil)
		case j := <-l.jobs.coming:
			l.jobs.begin(ctx, j)
		case <-l.notes.changed:
			if l.notes.exists() { // a missing file is left to the polls, which must find it missing twice
				l.tick(ctx)
			}
		case <-tick.C:
			l.tick(ctx)
		case <-end: // the raise must not last until the next poll
			l.tick(ctx)
		}
		l.jobs.answerDone(ctx)
	}
}

// between returns how long the Loop waits between two checks. next is when the next update is due
// if nothing changes before.
func between(now, next time.Time) time.Duration {
	if next.Sub(now) > time.Minute {
		return idleInterval // nothing is raised, and the lock is held
	}
	return pollInterval
}

// tick checks the lock, the annotations, the saved file and, for adoption, the processes of the
// pod. It runs an update if one of them has changed or an update is due.
func (l *Loop) tick(ctx context.Context) {
	now := time.Now()
	changed := l.owner.Keep()
	if l.notes.poll(now) {
		changed = true
		l.reporter.annotations(l.notes)
		l.saveAnnotated()
		l.show(now)
	}
	if l.plan.Adoption.On() && l.search.Due(l.runner.talk.JVMs.Surroundings(), false, now) {
		changed = true
	}
	if changed || l.memory.file.Moved() || !now.Before(l.next) {
		l.update(ctx, nil)
	}
	l.arm(now)
}

// arm arms or disarms the trigger and shows why it is not armed. The trigger is disarmed while
// anything is raised, and until everything written during that time has been read, however long
// that takes. If the trigger itself caused the raise, the cool-down begins at that point, and the
// trigger stays disarmed until the cool-down is over.
func (l *Loop) arm(now time.Time) {
	s, why := l.plan.State, ""
	_, _, on := s.Wanted(now)
	if on || l.plan.Raised() > 0 {
		l.triggers.Unread()
	}
	switch {
	case l.notes.request.Trigger.IsZero():
	case l.plan.Draining:
		why = plan.WhyDrained
	case on:
		why = "a raise is in effect"
	case l.plan.Raised() > 0:
		why = "the JVM does not yet have its own level again"
	case now.Before(s.Quiet) && (s.Quiet.Sub(now) > plan.TrailTime || l.triggers.HaveRead()):
		why = whyCooling
	case now.Before(s.Quiet), !l.triggers.Read(): // the reader may still receive lines of the raise
		why = whyUnread
	case s.Fired:
		s.Fired, s.Quiet = false, now.Add(l.cfg.TriggerCooldown)
		l.memory.unsaved, l.next = true, now // the next tick saves the state
		why = whyCooling
	}
	l.triggers.Arm(l.notes.request.Trigger, why == "")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown.Disarmed, l.shown.Quiet = why, s.Quiet
}

// Two of the reasons why a trigger is not armed.
const (
	whyUnread  = "some lines written so far have not been read yet"
	whyCooling = "it cools down after a raise"
)

// update evaluates everything that asks for a level, applies change if it is not nil, and
// reconciles the JVMs. It returns the errors of these steps. Every pending request receives the
// changes and errors of the update.
func (l *Loop) update(ctx context.Context, change func(now time.Time)) error {
	now, p := time.Now(), l.plan
	l.next, l.until = now.Add(findInterval), time.Time{}
	err := l.owner.Unlocked()
	if errors.Is(err, statedir.ErrNoSource) && len(p.State.JVMs)+len(p.State.Adopted) == 0 {
		l.next = time.Time{}
		return err
	}
	l.memory.load(now)
	before := p.State.Clone()
	l.want(now)
	if change != nil {
		change(now)
	}
	if l.to.AppLevels != nil {
		p.State.WantApp(l.notes.request, !l.notes.unknown, p.Draining, now)
	}
	l.arm(now) // before a JVM writes a line of a raise
	err = errors.Join(err, l.runner.reconcile(ctx, now))
	p.Renew(l.runner.busy(), time.Now())
	err = errors.Join(err, l.memory.save(before))
	l.raiseApp(before, now)
	l.finish(before, now, err)
	return err
}

// want turns the requests of the annotations and of a trigger into raises.
func (l *Loop) want(now time.Time) {
	req := l.notes.request
	if l.alarm != nil && !req.Trigger.IsZero() {
		l.plan.Alarm(req.TriggerLog, l.alarm.Reason, l.alarm.Why, now, now.Add(answered(l.cfg.Attach.Timeout)))
	}
	l.alarm = nil
	l.plan.Annotate(req, !l.notes.unknown, now)
	l.plan.Adoption.Want(l.notes.adopted(l.cfg.Adopt))
	l.plan.Renew(l.runner.busy(), now)
	l.plan.State.Expire(now)
}

// finish reports what has changed and which errors occurred. A raise that was in effect when the
// update began may be over by now. If so, the next update is due at once, and ends the raise.
func (l *Loop) finish(before *plan.State, began time.Time, err error) {
	now, s := time.Now(), l.plan.State
	changes := l.plan.Changes(before)
	for _, c := range changes {
		l.reporter.change(c)
	}
	l.jobs.note(changes, err)
	l.reporter.errors(now, l.errorsNow(err), l.plan.Problems())
	if len(l.reporter.holding) == 0 && !l.runner.busy() {
		l.reporter.allWell(now)
	}
	_, r, on := s.Wanted(began)
	switch {
	case on:
		l.wake(r.Until)
		l.until = r.Until
	case len(s.JVMs) == 0:
		l.next = now.Add(time.Hour) // nothing to do until something changes
	case l.plan.Raised() == 0:
		l.next = now.Add(10 * findInterval) // the JVMs that are still remembered have most likely ended
	}
	if at, due := l.plan.Adoption.Due(now); due {
		if soonest := now.Add(findInterval); at.Before(soonest) {
			at = soonest
		}
		l.wake(at)
	}
	if r, _ := s.AppNow(began); r != nil && !l.plan.Draining {
		l.wake(r.Until)
		if l.until.IsZero() || r.Until.Before(l.until) {
			l.until = r.Until
		}
	}
	l.show(now)
}

// drain restores every JVM. After a restart of the sidecar, an annotation's raise continues
// until it is over; other raises end here.
func (l *Loop) drain(ctx context.Context) error {
	l.runner.work.Wait() // the tasks end, because the context of turn has ended
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	l.plan.Draining = true
	l.arm(time.Now())
	err := l.update(ctx, func(time.Time) {
		l.plan.State.End(plan.FromCommand, plan.WhyDrained, "")
		l.plan.State.End(plan.FromTrigger, plan.WhyDrained, "")
	})
	l.runner.work.Wait()
	var left []error
	if n := l.plan.Raised(); n > 0 {
		left = append(left, fmt.Errorf("%d JVMs still have a raised log level, which the next start restores", n))
	}
	if n := l.plan.Adoption.Count(); n > 0 {
		left = append(left, fmt.Errorf("%d JVMs still have the output of --adopt, which the next start or 'ullage levels reset' removes", n))
	}
	if len(left) > 0 {
		left = append(left, err)
	}
	return errors.Join(left...)
}

// close gives up ownership of the levels, so that a successor can manage them, and answers the
// requests under way.
func (l *Loop) close() {
	l.runner.work.Wait()
	l.owner.Release()
	l.jobs.end()
	l.owner.Stop()
}

// wake makes the next update due at the given time or earlier.
func (l *Loop) wake(at time.Time) {
	if at.Before(l.next) {
		l.next = at
	}
}
