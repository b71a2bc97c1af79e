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

	"github.com/ullage/ullage/internal/attach"
)

const (
	// pollInterval is how often the annotations file and the saved state are
	// looked at. A poll needs no inotify instance, of which a user has few, and
	// does not miss the swap of a directory.
	pollInterval = 500 * time.Millisecond

	// findInterval is how often JVMs are looked for while something is raised.
	findInterval = time.Second

	// drainTimeout bounds the restore when the process is asked to end.
	drainTimeout = 5 * time.Second

	// settleTime is how long after a restore the lines of the raise may still
	// be on their way to the source's reader: twice its slow poll.
	settleTime = 2 * time.Second
)

// Manager keeps the log levels of the JVMs at what is wanted. Create it with
// [New]. Run is the sidecar's; Set, Reset, List and Rotate are a command's. A
// Manager does one or the other.
type Manager struct {
	cfg     Config
	log     *slog.Logger
	metrics metrics
	client  *attach.Client
	store   *store
	watch   *Watch
	notes   *annotations

	// Used by the goroutine of Run, or of the command.
	state      *state
	jvms       []attach.JVM
	problems   []error              // of finding JVMs
	attempts   map[string]attempt   // by JVM ID: those that failed last
	seen       map[string]time.Time // by JVM ID: when it was last found
	ended      map[string]bool      // JVMs found to have ended while raised, during an update
	told       map[string]bool      // errors that are in the log already and still hold
	reconciled time.Time            // when all JVMs last had what is wanted
	noted      []Problem            // bad annotations that are in the log already
	warned     time.Time            // when warns was last 0
	warns      int                  // errors that were logged since

	flying   map[string]*task // by JVM ID: those under way
	landing  chan struct{}    // one of them has landed
	crew     sync.WaitGroup   // of them
	alarm    *alarm           // that has not become a raise yet
	loaded   bool             // the saved state was looked at
	unsound  string           // what is wrong with what is saved
	unsaved  bool             // what is saved is not what is in memory
	oneTime  bool             // a command acts, which leaves off where a Manager that runs goes on
	unlocked time.Time        // since when the lock cannot be had
	draining bool
	holding  bool      // end Run once nothing is raised
	holds    time.Time // since when there is the raise that a command holds
	next     time.Time // when an update is due without any cause
	until    time.Time // when the raise ends that the last update found in effect; zero: none
	caughtUp bool      // the reader has read all that was written in a raise
	asked    bool      // ... and was asked whether

	mu    sync.Mutex
	shown Status
}

// New returns a Manager for a valid cfg. It touches nothing.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Manager {
	return &Manager{
		cfg: cfg, log: log, metrics: newMetrics(reg), client: attach.New(cfg.Attach, cfg.Source),
		store: &store{source: cfg.Source}, watch: newWatch(), notes: newAnnotations(cfg.Annotations, cfg.Known),
		state: newState(), attempts: map[string]attempt{}, seen: map[string]time.Time{},
		flying: map[string]*task{}, landing: make(chan struct{}, 1), ended: map[string]bool{}, told: map[string]bool{},
	}
}

// Watch returns what looks at the lines for triggers.
func (m *Manager) Watch() *Watch { return m.watch }

// Run keeps the levels at what is wanted until ctx ends, then restores. A JVM
// that does not answer, or a source that is missing, is tried again and never
// makes it fail: it returns an error only if levels may be left raised.
func (m *Manager) Run(ctx context.Context) error {
	if m.cfg.Attach.Mode == attach.Off {
		if m.cfg.Annotations != "" {
			m.log.Info("log levels are left alone", "hint", "--attach is off")
		}
		<-ctx.Done()
		return nil
	}
	defer m.store.disown()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	m.tick(ctx)
	for {
		var end <-chan time.Time
		if !m.until.IsZero() {
			end = time.After(time.Until(m.until))
		}
		select {
		case <-ctx.Done():
			return m.drain(context.WithoutCancel(ctx))
		case a := <-m.watch.fired:
			m.alarm = &a
			m.update(ctx, nil)
		case <-m.landing:
			m.update(ctx, nil)
		case <-tick.C:
			m.tick(ctx)
		case <-end: // not a poll later
			m.tick(ctx)
		}
		if _, _, on := m.state.wanted(time.Now()); m.holding && !on && len(m.state.JVMs) == 0 {
			return nil
		}
	}
}

// tick looks whether anything has changed.
func (m *Manager) tick(ctx context.Context) {
	now := time.Now()
	changed := m.notes.poll(now)
	if changed {
		m.tellAnnotations()
	}
	if changed || m.store.moved() || !now.Before(m.next) {
		m.update(ctx, nil)
	}
	if !m.holding {
		m.store.own()
	}
	m.arm(now)
}

// update takes in everything that asks for a level, change among it if it is
// not nil, and brings the JVMs in line. It returns what that changed.
func (m *Manager) update(ctx context.Context, change func(now time.Time)) ([]Change, error) {
	now := time.Now()
	m.next, m.until = now.Add(findInterval), time.Time{}
	unlock, err := m.lock(ctx)
	if err != nil && (m.oneTime || errors.Is(err, errBusy) || errors.Is(err, errNoSource) && len(m.state.JVMs) == 0) {
		return nil, err
	}
	defer unlock()
	lockErr := err
	first := !m.loaded
	if first {
		m.reload(now) // what was done before this process is no change
	}
	before := m.state.clone()
	if !first {
		m.reload(now)
	}
	loaded := m.state.clone()
	m.ask(now)
	if change != nil {
		change(now)
	}
	err = m.reconcile(ctx, now)
	err = errors.Join(lockErr, err, m.save(loaded))
	return m.finish(before, now, err), err
}

// lock keeps commands away. A Manager that runs has little patience, and soon
// tries again. What the application does to the lock must keep nobody from
// restoring: after lockPatience the Manager goes on without it.
func (m *Manager) lock(ctx context.Context) (unlock func(), err error) {
	patience := pollInterval / 2
	if m.oneTime {
		patience = lockPatience
	}
	unlock, err = m.store.lock(ctx, patience)
	switch {
	case err == nil:
		m.unlocked = time.Time{}
		return unlock, nil
	case m.unlocked.IsZero():
		m.unlocked = time.Now()
	}
	if errors.Is(err, errHeld) && !m.draining && time.Since(m.unlocked) < lockPatience {
		m.next = time.Time{}
		return nil, errBusy
	}
	return func() {}, err
}

// errBusy is that a command is at work.
var errBusy = errors.New("a command is changing levels")

// reload takes in what a command has changed. What is in memory holds where
// nothing sound is saved: the application can write there.
func (m *Manager) reload(now time.Time) {
	if m.loaded && !m.store.moved() {
		return
	}
	saved, err := m.store.load(now)
	switch {
	case saved == nil:
	case !m.loaded:
		m.state = saved
	case err == nil:
		m.state.take(saved)
	}
	m.loaded, m.unsaved = true, m.store.seen == stamp{}
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case err == nil || text == m.unsound:
	case errors.Is(err, fs.ErrPermission): // whether it is sound, only its owner knows
		m.log.Warn("cannot read the saved log levels", "error", err, "hint", "run as the user who wrote them, or as root")
	case errors.Is(err, errNoSource):
		m.log.Warn("cannot read the saved log levels", "error", err)
	default:
		m.log.Warn("saved log levels are not sound", "error", err, "hint", "their sound part is used, and the file is replaced")
	}
	m.unsound = text
}

// save saves the state if it is not the one that was loaded, or if nothing
// sound was. That there is a file tells a command that nobody has taken it
// away.
func (m *Manager) save(loaded *state) error {
	if !m.unsaved && m.state.same(loaded) {
		return nil
	}
	err := m.store.save(m.state)
	if m.unsaved = err != nil; len(m.state.JVMs)+len(m.state.Raises) == 0 {
		return nil // nothing is lost
	}
	return err
}

// ask turns what the annotations and a trigger ask for into raises.
func (m *Manager) ask(now time.Time) {
	req := m.notes.request
	switch was, ok := m.state.Raises[FromAnnotation]; {
	case req.LogBad || m.notes.unknown: // nothing changes
	case req.Log.IsZero():
		delete(m.state.Raises, FromAnnotation)
	case !ok || was.Selection != req.Log.String() || was.For != req.LogFor:
		m.state.Raises[FromAnnotation] = newRaise(req.Log, req.LogFor, string(FromAnnotation), "annotation "+Prefix+"log", now)
	}
	if m.alarm != nil {
		if !req.Trigger.IsZero() {
			r := newRaise(req.TriggerLog, req.TriggerFor, m.alarm.reason, "trigger: "+m.alarm.why, now)
			m.state.Raises[FromTrigger] = r
			m.state.Quiet = r.Until.Add(r.For)
		}
		m.alarm = nil
	}
	if !req.TriggerBad && !m.notes.unknown && req.Trigger.IsZero() {
		delete(m.state.Raises, FromTrigger)
	}
	for cause, r := range m.state.Raises {
		// The clock may have been set back since.
		if latest := now.Add(r.For); r.Until.After(latest) {
			r.Until = latest
			m.state.Raises[cause] = r
		}
		// An annotation that is over and still there has to be remembered, and
		// why a raise has ended until everybody has seen it.
		if cause != FromAnnotation && now.After(r.Until.Add(time.Minute)) {
			delete(m.state.Raises, cause)
		}
	}
}

// finish tells what has changed, and what went wrong. A raise that was in effect
// when the update began may be over by now: then its end is still to be met.
func (m *Manager) finish(before *state, began time.Time, err error) []Change {
	now := time.Now()
	changes := m.changes(before)
	for _, c := range changes {
		m.tellChange(c)
	}
	clear(m.ended)
	m.tellErrors(err)
	if len(m.told)+len(m.flying) == 0 {
		m.reconciled = now
		m.metrics.setReconciled(now)
	}
	_, r, on := m.state.wanted(began)
	switch {
	case on:
		m.next, m.until = earlier(m.next, r.Until), r.Until
	case len(m.state.JVMs) == 0:
		m.next = now.Add(time.Hour) // nothing but a change can matter
	case m.ours() == 0:
		m.next = now.Add(10 * findInterval) // most likely it has ended
	}
	m.show(now)
	return changes
}

// arm lets the triggers fire, or not: not while anything is raised, not in the
// cool-down that follows, and not before everything that was written in a
// raise has been read, however long that takes.
func (m *Manager) arm(now time.Time) {
	t := m.notes.request.Trigger
	_, _, on := m.state.wanted(now)
	switch {
	case t.IsZero():
		m.watch.armed.Store(nil)
	case on, m.ours() > 0, now.Before(m.state.Quiet):
		m.watch.armed.Store(nil)
		m.caughtUp, m.asked = false, false
	case !m.caughtUp:
		if !m.asked {
			m.asked = true
			m.watch.waiting.Store(true)
		}
		m.caughtUp = !m.watch.waiting.Load()
	default:
		if was := m.watch.armed.Load(); len(m.watch.fired) == 0 && (was == nil || *was != t) {
			m.watch.armed.Store(&t)
		}
	}
}

// drain restores every JVM. The raise of an annotation goes on after a restart
// of the sidecar, until its time; the others end here. A command that holds a
// raise ends its own, and leaves everything to others if that was replaced.
func (m *Manager) drain(ctx context.Context) error {
	m.crew.Wait() // the tasks end with Run's context
	if m.holding {
		if m.reload(time.Now()); !m.state.Raises[FromCommand].Since.Equal(m.holds) {
			return ErrReplaced
		}
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	m.draining = true
	m.watch.armed.Store(nil)
	_, err := m.update(ctx, func(time.Time) {
		for cause := range m.state.Raises {
			if cause != FromAnnotation {
				m.end(cause, whyDrained)
			}
		}
	})
	m.crew.Wait()
	if left := m.ours(); left > 0 {
		return fmt.Errorf("%d JVMs are left with a raised log level, which the next start restores: %w", left, err)
	}
	return nil
}

// ours counts the JVMs that were found and whose baseline we keep.
func (m *Manager) ours() (n int) {
	for _, j := range m.jvms {
		if m.state.JVMs[j.ID] != nil {
			n++
		}
	}
	return n
}

const whyDrained = "the sidecar drains"

// end ends a raise before its time.
func (m *Manager) end(cause Cause, why string) {
	if r, ok := m.state.Raises[cause]; ok && r.Ended == "" {
		r.Ended = why
		m.state.Raises[cause] = r
	}
}
