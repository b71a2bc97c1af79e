package levels

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

// conditions checks lines and stops for the conditions of a trigger, and knows whether the
// JVM's log can show a stall. A stall has two signs, and no stop is reported for both:
//
//   - the CPU times behind a pause, which its line has (match);
//   - a safepoint that went on beside its pauses, where these took their CPU time or have none
//     in the log: that is known of a stop alone (matchStop).
type conditions struct {
	floor pause.Floor
	stops bool // matchStop gets each stop

	// unseen counts what was logged, up to maxUnseen, and lacked the other half of either
	// sign, while an io-stall was sought: pauses until CPU times are logged, or safepoints with
	// the pauses in them. timed: CPU times were logged. paired: such a safepoint was.
	unseen        atomic.Int32
	timed, paired atomic.Bool
}

// maxUnseen is how many pauses, or safepoints of collections, without the other half show
// that the JVM does not log it: a JVM that does logs it at each pause.
const maxUnseen = 3

// neverMet begins each reason why an io-stall cannot be met.
const neverMet = ask.IOStallCondition + " is never met: the log has no CPU times of pauses (gc+cpu=info; ZGC and Shenandoah have none), and "

// never returns why a condition of t cannot be met, or "". It is safe for concurrent use.
func (d *conditions) never(t ask.Trigger) string {
	switch {
	case !t.IOStall || d.unseen.Load() < maxUnseen || d.timed.Load() || d.paired.Load():
		return ""
	case d.stops:
		return neverMet + "no safepoints with their pauses (gc*=info,safepoint=info)"
	}
	return neverMet + "--jvm-metrics=false leaves safepoints unread"
}

// note notes which sign of a stall the JVM logs.
func (d *conditions) note(e *pause.Event) {
	switch {
	case e.Kind == pause.Init && !d.stops && (string(e.Value) == "The Z Garbage Collector" || string(e.Value) == "Shenandoah"):
		d.unseen.Store(maxUnseen) // these never log CPU times
	case e.Kind == pause.CPU && !d.timed.Load():
		d.timed.Store(true)
	case e.Kind == pause.Pause && d.unseen.Load() < maxUnseen:
		d.unseen.Add(1)
	}
}

// match checks a line for the conditions of t.
func (d *conditions) match(t *ask.Trigger, line []byte, c ul.Class, e *pause.Event) (alarm, bool) {
	if t.Dropped && c.Kind == ul.Drop {
		return alarm{ask.DroppedCondition, fmt.Sprintf("the JVM dropped %d lines of its log", c.Dropped)}, true
	}
	if t.Warning && c.Level >= ul.Warning && c.Kind != ul.Text {
		var r ul.Record
		if r.Parse(line); string(r.Tags) != ownTag {
			return alarm{ask.WarningCondition, fmt.Sprintf("a line at level %s: %s", c.Level, excerpt(r.Message))}, true
		}
	}
	if t.Pause == 0 && !t.IOStall {
		return alarm{}, false
	}
	if e == nil {
		parsed, _ := pause.Parse(line)
		e = &parsed
	}
	return d.matchEvent(t, e)
}

// matchEvent checks the event of a line for the conditions of t.
func (d *conditions) matchEvent(t *ask.Trigger, e *pause.Event) (alarm, bool) {
	if t.IOStall {
		d.note(e)
	}
	if t.IOStall && e.Stalled(d.floor) {
		return alarm{ask.IOStallCondition, fmt.Sprintf("a pause of %s took only %s of CPU time", short(e.Real), short(e.User+e.Sys))}, true
	}
	if t.Pause > 0 && (e.Kind == pause.Pause || e.Kind == pause.Safepoint) && e.Duration > t.Pause {
		what := strings.TrimSpace(e.Kind.String() + " " + excerpt(e.Name)) // JDK 9 to 12 do not name a safepoint
		return alarm{ask.PauseCondition, fmt.Sprintf("%s took %s", what, short(e.Duration))}, true
	}
	return alarm{}, false
}

// matchStop checks a stop for a stall, unless the CPU times of its pauses have shown one.
func (d *conditions) matchStop(stop *pause.Stop) (alarm, bool) {
	switch {
	case stop.Safepoint && len(stop.Pauses) > 0 && !d.paired.Load():
		d.paired.Store(true)
	case stop.Unpaired() && d.unseen.Load() < maxUnseen:
		d.unseen.Add(1)
	}
	if !stop.WentOn(d.floor) || stop.Suspect(d.floor) == pause.Idle {
		return alarm{}, false
	}
	return alarm{ask.IOStallCondition, fmt.Sprintf("a safepoint went on for %s beside its pauses", short(stop.Outside()))}, true
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
