package trigger

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// signs records whether the JVM's log can show a stall. There are two signs of a stall:
//
//   - A pause took little CPU time. The log has the CPU times of a pause in a separate line.
//   - A safepoint was longer than its pauses. Only a [pause.Stop] shows that.
//
// If a stop shows both signs, only the first is reported.
type signs struct {
	floor pause.Floor
	stops bool // stops are seen

	// unseen counts, up to maxUnseen, the events that show only half of a sign: each pause, whose CPU
	// times would follow in a later line, and each safepoint of a collection without the pauses in
	// it. Events are counted only while a trigger looks for an io-stall. timed is set once CPU times
	// have been logged, and paired once a safepoint has been logged with its pauses. Once either is
	// set, unseen does not matter.
	unseen        atomic.Int32
	timed, paired atomic.Bool
}

// maxUnseen is how many pauses or safepoints may lack the other half of a sign before the JVM is
// assumed not to log that half. A JVM that logs it does so at each pause.
const maxUnseen = 3

// neverMet begins each reason why an io-stall cannot be met.
const neverMet = ask.IOStallCondition + " can never be met: the log has no CPU times of pauses (gc+cpu=info; ZGC and Shenandoah have none), and "

// never returns why a condition of t cannot be met, or "".
func (d *signs) never(t ask.Trigger) string {
	switch {
	case !t.IOStall || d.unseen.Load() < maxUnseen || d.timed.Load() || d.paired.Load():
		return ""
	case d.stops:
		return neverMet + "no safepoints with their pauses (gc*=info,safepoint=info)"
	}
	return neverMet + "--jvm-metrics=false leaves safepoints unread"
}

// note updates d with the event of a line.
func (d *signs) note(e *pause.Event) {
	switch {
	case e.Kind == pause.Init && !d.stops && (string(e.Value) == "The Z Garbage Collector" || string(e.Value) == "Shenandoah"):
		d.unseen.Store(maxUnseen) // these never log CPU times
	case e.Timed && !d.timed.Load():
		d.timed.Store(true)
	case e.Kind == pause.Pause && d.unseen.Load() < maxUnseen:
		d.unseen.Add(1)
	}
}

// noteStop updates d with a stop.
func (d *signs) noteStop(stop *pause.Stop) {
	switch {
	case stop.Safepoint && len(stop.Pauses) > 0 && !d.paired.Load():
		d.paired.Store(true)
	case stop.Unpaired() && d.unseen.Load() < maxUnseen:
		d.unseen.Add(1)
	}
}

// line is a line that is checked. It is parsed at most once.
type line struct {
	text  []byte
	class ul.Class
	event *pause.Event // if it has been parsed already; else nil

	own  pause.Event
	read bool // text has been parsed into own
}

// parsed returns the event of the line.
func (l *line) parsed() *pause.Event {
	if l.event != nil {
		return l.event
	}
	if !l.read {
		l.own, _ = pause.Parse(l.text)
		l.read = true
	}
	return &l.own
}

// meets reports whether a line meets a condition of t, and which.
func (l *line) meets(t *ask.Trigger, floor pause.Floor) (Alarm, bool) {
	if t.Dropped && l.class.Kind == ul.Drop {
		return Alarm{ask.DroppedCondition, fmt.Sprintf("the JVM dropped %d lines of its log", l.class.Dropped)}, true
	}
	if t.Warning && l.class.Level >= ul.Warning && l.class.Kind != ul.Text {
		var r ul.Record
		if r.Parse(l.text); string(r.Tags) != ownTag {
			return Alarm{ask.WarningCondition, fmt.Sprintf("a line at level %s: %s", l.class.Level, excerpt(r.Message))}, true
		}
	}
	if t.Pause == 0 && !t.IOStall {
		return Alarm{}, false
	}
	e := l.parsed()
	if t.IOStall && e.Stalled(floor) {
		return Alarm{ask.IOStallCondition, fmt.Sprintf("a pause of %s took only %s of CPU time", short(e.Real), short(e.User+e.Sys))}, true
	}
	if t.Pause > 0 && (e.Kind == pause.Pause || e.Kind == pause.Safepoint) && e.Duration > t.Pause {
		what := strings.TrimSpace(e.Kind.String() + " " + excerpt(e.Name)) // JDK 9 to 12 do not name a safepoint
		return Alarm{ask.PauseCondition, fmt.Sprintf("%s took %s", what, short(e.Duration))}, true
	}
	return Alarm{}, false
}

// meetsStall reports whether a stop was a stall. It returns false if the CPU times of the
// pauses in it have already shown a stall, which is reported by [line.meets].
func meetsStall(stop *pause.Stop, floor pause.Floor) (Alarm, bool) {
	if !stop.WentOn(floor) || stop.Suspect(floor) == pause.Idle {
		return Alarm{}, false
	}
	return Alarm{ask.IOStallCondition, fmt.Sprintf("a safepoint took %s outside its pauses", short(stop.Outside()))}, true
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
