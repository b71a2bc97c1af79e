package levels

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

const (
	// pollInterval is how often the Loop checks the annotations file, the lock
	// and the socket. Polling needs no inotify instance, which are few for each
	// user, and does not miss a swapped directory.
	pollInterval = 500 * time.Millisecond

	// idleInterval is that without annotations, while no level is raised. It is the
	// interval of the reader's poll, so that one wake-up of an idle process serves both.
	idleInterval = time.Second

	// drainTimeout bounds the restore when the process ends.
	drainTimeout = 5 * time.Second

	// trailTime is how long after a restore the reader may still receive lines
	// of the raise: twice the interval of its poll.
	trailTime = 2 * time.Second
)

// Loop keeps the JVMs at the wanted log levels while its process runs. Each
// source has one Loop. Only the Loop sends JVMs commands that change levels,
// and its state in memory is authoritative. Create it with [New].
type Loop struct {
	cfg      Config
	log      *slog.Logger
	store    *store
	notes    *annotations
	triggers *trigger.Set
	to       Outlets
	fleet    *fleet

	journal journal
	keeper  keeper // holds the lock and the socket
	errands *errands

	alarm   *trigger.Alarm // a firing that has not become a raise yet
	loaded  bool           // load has read the saved state
	unsaved bool           // the saved state differs from the state in memory
	next    time.Time      // when the next update is due without a change
	until   time.Time      // the end of the raise that the last update found in effect; zero: none

	mu    sync.Mutex
	shown Status
}

// Outlets are where a Loop passes on what is not for a JVM. None of them may block, and each
// may be nil.
type Outlets struct {
	// AppLevel is given, at each update, the level from which on the application's events
	// are wanted; [ul.Unknown] leaves that to the application. Nil: nobody can raise them.
	AppLevel func(ul.Level)

	// Mark is given the raises and restores. Nil: nobody wants to know.
	Mark func(mark.Mark)

	// Save is called, by several goroutines, when somebody asks to save withheld lines,
	// with the kind of the cause and the reason for people. Nil: none are held.
	Save func(cause, why string) (Saving, error)
}

// New returns a Loop for a valid cfg, which raises on the alarms of triggers. It has no side
// effects besides registering metrics.
func New(cfg Config, triggers *trigger.Set, to Outlets, reg prometheus.Registerer, log *slog.Logger) *Loop {
	st, m := &store{source: cfg.Source}, newMetrics(reg)
	l := &Loop{
		cfg: cfg, log: log, store: st, triggers: triggers, to: to, notes: newAnnotations(cfg.Annotations, cfg.Known),
		journal: journal{log: log, metrics: m, mark: to.Mark, holding: map[string]bool{}},
		fleet: &fleet{
			talk: outputs.New(cfg.Config), timeout: cfg.Attach.Timeout, log: log, metrics: m, store: st, state: newState(),
			attempts: map[string]attempt{}, seen: map[string]time.Time{}, ended: map[string]bool{},
			flying: map[string]*task{}, landing: make(chan struct{}, 1),
		},
		errands: newErrands(),
	}
	l.keeper = keeper{store: st, answer: l.answer}
	return l
}

// Run keeps the wanted levels until ctx ends, then restores the JVMs. It
// retries a JVM that does not answer and a source that is missing. It returns
// an error only if a level may be left raised. With --attach off it only reads
// the annotations, for the status.
func (l *Loop) Run(ctx context.Context) error {
	if l.cfg.Attach.Mode == attach.Off {
		if l.cfg.Annotations != "" {
			l.log.Info("log levels are not changed", "hint", "--attach is off")
		}
		l.read(ctx)
		return nil
	}
	defer l.close()
	l.keeper.await(ctx)
	l.turn(ctx)
	return l.drain(context.WithoutCancel(ctx))
}

// read reads the annotations until ctx ends, and changes nothing.
func (l *Loop) read(ctx context.Context) {
	tick := kernel.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if now := time.Now(); l.notes.poll(now) {
			l.journal.annotations(l.notes)
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

// turn runs until ctx ends.
func (l *Loop) turn(ctx context.Context) {
	interval := pollInterval
	tick := kernel.NewTicker(interval)
	defer tick.Stop()
	l.tick(ctx)
	for {
		if i := l.cfg.between(time.Now(), l.next); i != interval {
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
		case <-l.fleet.landing:
			l.update(ctx, nil)
		case e := <-l.errands.coming:
			l.begin(ctx, e)
		case <-tick.C:
			l.tick(ctx)
		case <-end: // at the end of the raise, rather than at the next poll
			l.tick(ctx)
		}
		l.conclude(ctx)
	}
}

// between returns how long the Loop waits between two checks, where the next update is due
// without a change. Who annotates waits for the result, and is not to wait for the next look.
func (c Config) between(now, next time.Time) time.Duration {
	if c.Annotations == "" && next.Sub(now) > time.Minute {
		return idleInterval // nothing is raised, and the lock is held
	}
	return pollInterval
}

// tick checks the lock, the annotations and the saved file. It updates if one
// of them has changed or an update is due.
func (l *Loop) tick(ctx context.Context) {
	now := time.Now()
	changed := l.keeper.keep()
	if l.notes.poll(now) {
		changed = true
		l.journal.annotations(l.notes)
		l.saveAnnotated()
		l.show(now)
	}
	if changed || l.store.moved() || !now.Before(l.next) {
		l.update(ctx, nil)
	}
	l.arm(now)
}

// arm arms the trigger, or disarms it and shows why. The trigger is disarmed
// while anything is raised, until everything written meanwhile has been read,
// however long that takes, and for the cool-down that begins then if the trigger
// itself has raised.
func (l *Loop) arm(now time.Time) {
	s, why := l.fleet.state, ""
	_, _, on := s.wanted(now)
	if on || l.fleet.ours() > 0 {
		l.triggers.Unread()
	}
	switch {
	case l.notes.request.Trigger.IsZero():
	case l.fleet.draining:
		why = whyDrained
	case on:
		why = "a raise is in effect"
	case l.fleet.ours() > 0:
		why = "the JVM does not have its own level again yet"
	case now.Before(s.Quiet) && (s.Quiet.Sub(now) > trailTime || l.triggers.HaveRead()):
		why = whyCooling
	case now.Before(s.Quiet), !l.triggers.Read(): // the reader may still receive lines of the raise
		why = whyUnread
	case s.Fired:
		s.Fired, s.Quiet = false, now.Add(l.cfg.TriggerCooldown)
		l.unsaved, l.next = true, now // the next tick saves that
		why = whyCooling
	}
	l.triggers.Arm(l.notes.request.Trigger, why == "")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown.Disarmed, l.shown.Quiet = why, s.Quiet
}

// Two of the reasons why a trigger is not armed.
const (
	whyUnread  = "not all that was written so far has been read"
	whyCooling = "it cools down after a raise"
)

// update evaluates everything that wants a level, applies change if it is not
// nil, and reconciles the JVMs. It returns the error that prevents that. Every
// request under way gets the changes and errors of the update.
func (l *Loop) update(ctx context.Context, change func(now time.Time)) error {
	now, f := time.Now(), l.fleet
	l.next, l.until = now.Add(findInterval), time.Time{}
	err := l.keeper.err
	if errors.Is(err, errNoSource) && len(f.state.JVMs) == 0 {
		l.next = time.Time{}
		return err
	}
	l.load(now)
	before := f.state.clone()
	l.want(now)
	if change != nil {
		change(now)
	}
	if l.to.AppLevel != nil {
		f.state.wantApp(l.notes, f.draining, now)
	}
	l.arm(now) // before a JVM writes a line of a raise
	err = errors.Join(err, f.reconcile(ctx, now))
	f.renew(time.Now())
	err = errors.Join(err, l.save(before))
	l.raiseApp(before, now)
	l.finish(before, now, err)
	return err
}

// load reads, once, the state that an earlier process saved. It ignores later
// changes of the file, because the application can write there.
func (l *Loop) load(now time.Time) {
	if l.loaded {
		return
	}
	saved, err := l.store.load(now)
	if saved != nil {
		l.fleet.state = saved
	}
	l.loaded, l.unsaved = true, err != nil || saved != nil && l.store.seen == stamp{}
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission): // only the owner can tell whether the file is sound
		l.log.Warn("cannot read the saved log levels", "error", err, "hint", "run as the user who wrote them, or as root")
	default:
		l.log.Warn("saved log levels are not sound", "error", err, "hint", "the sound part is used, and the file is replaced")
	}
}

// save saves the state if it has changed since the last save, or if the file is
// not the one that this process wrote. It returns an error only if a crash
// would lose something.
func (l *Loop) save(before *state) error {
	s := l.fleet.state
	if !l.unsaved && !l.store.moved() && s.same(before) {
		return nil
	}
	err := l.store.save(s)
	if l.unsaved = err != nil; len(s.JVMs)+len(s.Raises) == 0 {
		return nil
	}
	return err
}

// want turns the requests of the annotations and of a trigger into raises.
func (l *Loop) want(now time.Time) {
	req, s := l.notes.request, l.fleet.state
	switch was, ok := s.Raises[FromAnnotation]; {
	case req.LogBad || l.notes.unknown: // nothing changes
	case req.Log.IsZero():
		delete(s.Raises, FromAnnotation)
	case !ok || was.Raise != req.Log:
		s.Raises[FromAnnotation] = begun(req.Log, string(FromAnnotation), "annotation "+ask.Prefix+"log", now)
	}
	if l.alarm != nil {
		if !req.Trigger.IsZero() {
			s.Raises[FromTrigger] = begun(req.TriggerLog, l.alarm.Reason, "trigger: "+l.alarm.Why, now)
			s.Fired = true
			l.fleet.awaited = now.Add(l.cfg.answered())
		}
		l.alarm = nil
	}
	if !req.TriggerBad && !l.notes.unknown && req.Trigger.IsZero() {
		delete(s.Raises, FromTrigger)
	}
	l.fleet.renew(now)
	s.expire(now)
}

// finish reports what has changed and which errors occurred. A raise that was
// in effect when the update began may be over by now; its end is then still
// due.
func (l *Loop) finish(before *state, began time.Time, err error) {
	now, f := time.Now(), l.fleet
	changes := f.changes(before)
	for _, c := range changes {
		l.journal.change(c)
	}
	l.errands.note(changes, err)
	l.journal.errors(now, l.errorsNow(err), f.problems)
	if len(l.journal.holding)+len(f.flying) == 0 {
		l.journal.allWell(now)
	}
	_, r, on := f.state.wanted(began)
	switch {
	case on:
		l.next, l.until = earlier(l.next, r.Until), r.Until
	case len(f.state.JVMs) == 0:
		l.next = now.Add(time.Hour) // nothing to do until something changes
	case f.ours() == 0:
		l.next = now.Add(10 * findInterval) // most likely the JVM has ended
	}
	if r, _ := f.state.app(began); r != nil && !f.draining {
		l.next = earlier(l.next, r.Until)
		if l.until.IsZero() || r.Until.Before(l.until) {
			l.until = r.Until
		}
	}
	l.show(now)
}

// drain restores every JVM. An annotation's raise continues after a restart of
// the sidecar, until its end; other raises end here.
func (l *Loop) drain(ctx context.Context) error {
	f := l.fleet
	f.crew.Wait() // the tasks end with the context of turn
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	f.draining = true
	l.arm(time.Now())
	err := l.update(ctx, func(time.Time) {
		f.state.end(FromCommand, whyDrained, "")
		f.state.end(FromTrigger, whyDrained, "")
	})
	f.crew.Wait()
	if left := f.ours(); left > 0 {
		return fmt.Errorf("%d JVMs are left with a raised log level, which the next start restores: %w", left, err)
	}
	return nil
}

// close lets a successor keep the levels, and answers the requests under way.
func (l *Loop) close() {
	l.fleet.crew.Wait()
	l.keeper.release()
	l.errands.end()
	l.keeper.stop()
}
