package levels

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/pause"
	"github.com/ullage/ullage/internal/podmeta"
	"github.com/ullage/ullage/internal/printable"
	"github.com/ullage/ullage/internal/ul"
)

// Watch checks each new line for the conditions of a trigger. The reader of the
// lines calls Line and CaughtUp; both are cheap, do not block, and are for one
// goroutine. The zero value is not usable: see [Loop.Watch].
type Watch struct {
	sought atomic.Pointer[sought] // nil: no line is checked
	fired  chan alarm
	missed *prometheus.CounterVec // by condition
	floor  pause.Floor            // of an io-stall

	// untimed counts the pauses that were logged, up to maxUntimed of them, while
	// an io-stall was sought and no CPU time was logged. timed: one was logged.
	untimed atomic.Int32
	timed   atomic.Bool

	// The Loop sets waiting when it needs to know that every line written so
	// far has been read. The reader clears it.
	waiting atomic.Bool

	// Only the Loop uses the following fields.
	caughtUp bool // the reader has read everything written during the raise
	asked    bool // the Loop has asked the reader
}

// sought is what the lines are checked for.
type sought struct {
	podmeta.Trigger
	armed bool // a line that meets a condition fires; else it is counted as missed
}

// maxUntimed is how many pauses without their CPU time show that the JVM logs
// none: a collector that logs it does so after each pause.
const maxUntimed = 3

// alarm is one firing of a trigger.
type alarm struct {
	reason string // the condition, a metric's label
	why    string // for people
}

func newWatch(floor pause.Floor, missed *prometheus.CounterVec) *Watch {
	return &Watch{fired: make(chan alarm, 1), missed: missed, floor: floor}
}

// Line checks the next line, without its newline. Each line is passed once. The event is
// that of the line, as [pause.Parse] returns it, or nil where nobody has parsed the line.
func (w *Watch) Line(line []byte, c ul.Class, e *pause.Event) {
	s := w.sought.Load()
	if s == nil || c.Kind == ul.Continuation {
		return
	}
	a, ok := w.match(&s.Trigger, line, c, e)
	if !ok {
		return
	}
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
func (w *Watch) arm(t podmeta.Trigger, armed bool) {
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

// never returns why a condition of t cannot be met, or "". It is safe for
// concurrent use.
func (w *Watch) never(t podmeta.Trigger) string {
	if t.IOStall && w.untimed.Load() >= maxUntimed && !w.timed.Load() {
		return podmeta.IOStallCondition + " is never met: the log has no CPU times of pauses, which ZGC and Shenandoah do not log, and others only with gc+cpu=info"
	}
	return ""
}

// noteTimes notes whether the JVM logs the CPU times of its pauses.
func (w *Watch) noteTimes(e *pause.Event) {
	switch {
	case e.Kind == pause.Init && (string(e.Value) == "The Z Garbage Collector" || string(e.Value) == "Shenandoah"):
		w.untimed.Store(maxUntimed) // these never do
	case e.Kind == pause.CPU && !w.timed.Load():
		w.timed.Store(true)
	case e.Kind == pause.Pause && w.untimed.Load() < maxUntimed:
		w.untimed.Add(1)
	}
}

// match checks a line for the conditions of t.
func (w *Watch) match(t *podmeta.Trigger, line []byte, c ul.Class, e *pause.Event) (alarm, bool) {
	if t.Dropped && c.Kind == ul.Drop {
		return alarm{podmeta.DroppedCondition, fmt.Sprintf("the JVM dropped %d lines of its log", c.Dropped)}, true
	}
	if t.Warning && c.Level >= ul.Warning && c.Kind != ul.Text {
		var r ul.Record
		if r.Parse(line); string(r.Tags) != ownTag {
			return alarm{podmeta.WarningCondition, fmt.Sprintf("a line at level %s: %s", c.Level, excerpt(r.Message))}, true
		}
	}
	if t.Pause == 0 && !t.IOStall {
		return alarm{}, false
	}
	if e == nil {
		parsed, _ := pause.Parse(line)
		e = &parsed
	}
	return w.matchEvent(t, e)
}

// matchEvent checks the event of a line for the conditions of t.
func (w *Watch) matchEvent(t *podmeta.Trigger, e *pause.Event) (alarm, bool) {
	if t.IOStall {
		w.noteTimes(e)
	}
	if t.IOStall && e.Stalled(w.floor) {
		return alarm{podmeta.IOStallCondition, fmt.Sprintf("a pause of %s took only %s of CPU time", short(e.Real), short(e.User+e.Sys))}, true
	}
	if t.Pause > 0 && (e.Kind == pause.Pause || e.Kind == pause.Safepoint) && e.Duration > t.Pause {
		what := strings.TrimSpace(e.Kind.String() + " " + excerpt(e.Name)) // JDK 9 to 12 do not name a safepoint
		return alarm{podmeta.PauseCondition, fmt.Sprintf("%s took %s", what, short(e.Duration))}, true
	}
	return alarm{}, false
}

// ownTag is the tag of the marker lines that the sidecar writes into a stream.
const ownTag = "ullage"

// maxExcerpt bounds the excerpt of a line.
const maxExcerpt = 120

// excerpt returns a part of a line for a log message. It copies no more of the
// line than it needs.
func excerpt(text []byte) string {
	return printable.Text(string(text[:min(len(text), utf8.UTFMax*(maxExcerpt+1))]), maxExcerpt)
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
