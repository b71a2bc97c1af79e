package trigger

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// Set has two triggers: one raises log levels, the other saves lines. Create it with [New].
type Set struct {
	signs signs // the signs of a stall, for both triggers

	raising atomic.Pointer[raising] // nil: no trigger raises
	fired   chan Alarm
	missed  *prometheus.CounterVec // by condition

	saving ask.Trigger // zero: no trigger saves
	save   func(cause, why string)

	unread unread
}

// raising is the trigger that raises log levels.
type raising struct {
	ask.Trigger
	armed bool // a line or stop that meets a condition fires; if false, it is counted as missed
}

// Alarm is one firing of a trigger.
type Alarm struct {
	Reason string // the condition; a metric's label
	Why    string // human-readable
}

// New returns a Set for a valid cfg. When a condition of cfg.SaveOn is met, the Set calls save with
// the name of the condition and a human-readable reason. save must not block. If save is nil, no
// lines are held.
func New(cfg Config, save func(cause, why string), reg prometheus.Registerer) *Set {
	s := &Set{signs: signs{floor: cfg.Floor, stops: cfg.Stops}, fired: make(chan Alarm, 1), save: save,
		missed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_trigger_missed_total", Help: "Lines and stops that met a condition of the trigger while it was not armed, by condition."}, []string{"reason"})}
	if save != nil {
		s.saving, _ = cfg.saveOn() // cfg is valid
	}
	for _, c := range ask.Conditions() {
		s.missed.WithLabelValues(c) // without a zero at the start, Prometheus would miss the first increment
	}
	reg.MustRegister(s.missed)
	return s
}

// Missed returns how many lines and stops met a condition while the trigger was not armed.
func (s *Set) Missed() int64 { return admin.SamplesOf(s.missed).Sum() }

// Saves reports whether there is a trigger that saves.
func (s *Set) Saves() bool { return !s.saving.IsZero() }

// Line checks the next line, without its newline. Pass each line once. The event is what
// [pause.Parse] returned for the line, or nil if the line was not parsed.
func (s *Set) Line(text []byte, c ul.Class, e *pause.Event) {
	r := s.raising.Load()
	if r == nil && !s.Saves() || c.Kind == ul.Continuation && (e == nil || e.Kind == 0) {
		return
	}
	l := line{text: text, class: c, event: e}
	if r != nil && r.IOStall || s.saving.IOStall {
		s.signs.note(l.parsed())
	}
	if r != nil {
		if a, ok := l.meets(&r.Trigger, s.signs.floor); ok {
			s.fire(r, a)
		}
	}
	if a, ok := l.meets(&s.saving, s.signs.floor); ok {
		s.save(a.Reason, a.Why)
	}
}

// Stop checks the next stop of a JVM. Call it before the line that completes the stop is passed to
// Line. Stop does not report a stop that Line reports as an io-stall because of its CPU times.
func (s *Set) Stop(stop *pause.Stop) {
	r := s.raising.Load()
	raises := r != nil && r.IOStall
	if !raises && !s.saving.IOStall {
		return
	}
	s.signs.noteStop(stop)
	a, ok := meetsStall(stop, s.signs.floor)
	if ok && raises {
		s.fire(r, a)
	}
	if ok && s.saving.IOStall {
		s.save(a.Reason, a.Why)
	}
}

// fire hands over an alarm if the trigger is armed; otherwise it counts the condition as missed.
func (s *Set) fire(r *raising, a Alarm) {
	// Package levels arms the trigger again. It may have disarmed the trigger since r was loaded.
	if r.armed && s.raising.CompareAndSwap(r, &raising{Trigger: r.Trigger}) {
		select {
		case s.fired <- a:
			return
		default: // an alarm is pending already
		}
	}
	s.missed.WithLabelValues(a.Reason).Inc()
}

// Fired returns the channel with the alarms of the raising trigger. It holds at most one alarm.
func (s *Set) Fired() <-chan Alarm { return s.fired }

// Arm sets the conditions of the raising trigger to those of t, and then arms or disarms the trigger.
// It does not arm the trigger while the last alarm is pending.
func (s *Set) Arm(t ask.Trigger, armed bool) {
	if t.IsZero() {
		s.raising.Store(nil)
		return
	}
	next := raising{Trigger: t, armed: armed && len(s.fired) == 0}
	if was := s.raising.Load(); was == nil || *was != next {
		s.raising.Store(&next)
	}
}

// Armed reports whether the next line or stop that meets a condition raises. It is safe for concurrent use.
func (s *Set) Armed() bool {
	r := s.raising.Load()
	return r != nil && r.armed
}

// Never returns why a condition of t cannot be met, or "". It is safe for concurrent use.
func (s *Set) Never(t ask.Trigger) string { return s.signs.never(t) }

// PauseThreshold returns the length that a pause must exceed to raise, or 0 if no pause raises. It
// is safe for concurrent use.
func (s *Set) PauseThreshold() time.Duration {
	if r := s.raising.Load(); r != nil {
		return r.Pause
	}
	return 0
}
