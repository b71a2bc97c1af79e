package levels

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/pause"
	"github.com/ullage/ullage/internal/podmeta"
	"github.com/ullage/ullage/internal/printable"
	"github.com/ullage/ullage/internal/ul"
)

// Watch checks each new line for the conditions of a trigger. The reader of the
// lines calls Line and CaughtUp; both are cheap, do not block, and are for one
// goroutine. The zero value is not usable: see [Loop.Watch].
type Watch struct {
	armed atomic.Pointer[podmeta.Trigger] // nil: no line is checked
	fired chan alarm

	// The Loop sets waiting when it needs to know that every line written so
	// far has been read. The reader clears it.
	waiting atomic.Bool

	// Only the Loop uses the following fields.
	caughtUp bool // the reader has read everything written during the raise
	asked    bool // the Loop has asked the reader
}

// alarm is one firing of a trigger.
type alarm struct {
	reason string // the condition, a metric's label
	why    string // for people
}

func newWatch() *Watch { return &Watch{fired: make(chan alarm, 1)} }

// Line checks the next line, without its newline. Each line is passed once.
func (w *Watch) Line(line []byte, c ul.Class) {
	t := w.armed.Load()
	if t == nil || c.Kind == ul.Continuation {
		return
	}
	a, ok := match(t, line, c)
	if !ok {
		return
	}
	w.armed.Store(nil) // the Loop arms it again
	select {
	case w.fired <- a:
	default: // an alarm is pending already
	}
}

// CaughtUp reports to the Watch that every line written so far has been read.
func (w *Watch) CaughtUp() {
	if w.waiting.Load() {
		w.waiting.Store(false)
	}
}

// arm arms or disarms the trigger. The trigger is disarmed while quiet: while
// anything is raised, and in the cool-down that follows. It stays disarmed
// until everything written during the raise has been read, however long that
// takes.
func (w *Watch) arm(t podmeta.Trigger, quiet bool) {
	switch {
	case t.IsZero():
		w.armed.Store(nil)
	case quiet:
		w.armed.Store(nil)
		w.caughtUp, w.asked = false, false
	case !w.caughtUp:
		if !w.asked {
			w.asked = true
			w.waiting.Store(true)
		}
		w.caughtUp = !w.waiting.Load()
	default:
		if was := w.armed.Load(); len(w.fired) == 0 && (was == nil || *was != t) {
			w.armed.Store(&t)
		}
	}
}

// match checks a line for the conditions of t.
func match(t *podmeta.Trigger, line []byte, c ul.Class) (alarm, bool) {
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
	e, ok := pause.Parse(line)
	if !ok {
		return alarm{}, false
	}
	if t.IOStall && e.Stalled() {
		return alarm{podmeta.IOStallCondition, fmt.Sprintf("a pause of %s took only %s of CPU time", short(e.Real), short(e.User+e.Sys))}, true
	}
	if t.Pause > 0 && e.Kind != pause.CPU && e.Duration > t.Pause {
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
