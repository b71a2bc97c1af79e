package levels

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// Watch checks each new line for the conditions of a trigger. The reader of the
// lines calls Line, Stop and CaughtUp, which are cheap, do not block, and are for one
// goroutine. The zero value is not usable: see [Loop.Watch].
type Watch struct {
	sought atomic.Pointer[sought] // nil: no line is checked
	fired  chan alarm
	missed *prometheus.CounterVec // by condition

	conditions conditions

	// The Loop sets waiting when it needs to know that every line written so
	// far has been read. The reader clears it.
	waiting atomic.Bool

	// Only the Loop uses the following fields.
	caughtUp bool // the reader has read everything written during the raise
	asked    bool // the Loop has asked the reader
}

// sought is what the lines are checked for.
type sought struct {
	ask.Trigger
	armed bool // a line that meets a condition fires; else it is counted as missed
}

// alarm is one firing of a trigger.
type alarm struct {
	reason string // the condition, a metric's label
	why    string // for people
}

func newWatch(cfg Config, missed *prometheus.CounterVec) *Watch {
	return &Watch{fired: make(chan alarm, 1), missed: missed, conditions: conditions{floor: cfg.StallFloor, stops: cfg.Stops}}
}

// Line checks the next line, without its newline. Each line is passed once. The event is
// that of the line, as [pause.Parse] returns it, or nil where nobody has parsed the line.
func (w *Watch) Line(line []byte, c ul.Class, e *pause.Event) {
	s := w.sought.Load()
	if s == nil || c.Kind == ul.Continuation {
		return
	}
	if a, ok := w.conditions.match(&s.Trigger, line, c, e); ok {
		w.fire(s, a)
	}
}

// Stop checks the next stop of a JVM, before the line that completes it goes to Line. A
// stop that Line reports as an io-stall by its CPU times is not reported again.
func (w *Watch) Stop(stop *pause.Stop) {
	s := w.sought.Load()
	if s == nil || !s.IOStall {
		return
	}
	if a, ok := w.conditions.matchStop(stop); ok {
		w.fire(s, a)
	}
}

// fire hands an alarm to the Loop, if the trigger is armed, or counts it as missed.
func (w *Watch) fire(s *sought, a alarm) {
	// The Loop arms it again. It may have disarmed it since s was loaded.
	if s.armed && w.sought.CompareAndSwap(s, &sought{Trigger: s.Trigger}) {
		select {
		case w.fired <- a:
			return
		default: // an alarm is pending already
		}
	}
	w.missed.WithLabelValues(a.reason).Inc()
}

// CaughtUp reports to the Watch that every line written so far has been read.
func (w *Watch) CaughtUp() {
	if w.waiting.Load() {
		w.waiting.Store(false)
	}
}

// PauseThreshold returns the length of a pause that fires, or 0 where no pause does. It is
// safe for concurrent use.
func (w *Watch) PauseThreshold() time.Duration {
	if s := w.sought.Load(); s != nil {
		return s.Pause
	}
	return 0
}

// arm has the lines checked for the conditions of t, and arms the trigger or
// disarms it. It does not arm a trigger whose last alarm is pending.
func (w *Watch) arm(t ask.Trigger, armed bool) {
	if t.IsZero() {
		w.sought.Store(nil)
		return
	}
	next := sought{Trigger: t, armed: armed && len(w.fired) == 0}
	if was := w.sought.Load(); was == nil || *was != next {
		w.sought.Store(&next)
	}
}

// armed reports whether a line that meets a condition fires. It is safe for
// concurrent use.
func (w *Watch) armed() bool {
	s := w.sought.Load()
	return s != nil && s.armed
}

// unread notes that lines are being written that must be read before the trigger
// is armed.
func (w *Watch) unread() { w.caughtUp, w.asked = false, false }

// read reports whether everything written before its first call since unread has
// been read.
func (w *Watch) read() bool {
	if !w.caughtUp {
		if !w.asked {
			w.asked = true
			w.waiting.Store(true)
		}
		w.caughtUp = !w.waiting.Load()
	}
	return w.caughtUp
}
