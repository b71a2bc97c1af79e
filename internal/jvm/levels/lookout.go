package levels

import (
	"errors"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// Saving is what a request to save withheld lines has begun.
type Saving struct {
	From  time.Time `json:"from,omitzero"` // since when the oldest lines that are held were written
	Until time.Time `json:"until"`         // lines that are written until then are saved as well
	Bytes int64     `json:"bytes"`         // that are held, compressed
}

// Lookout checks each new line for the conditions on which withheld lines are saved. It
// raises nothing, so it is never disarmed. Its methods are for one goroutine.
type Lookout struct {
	conditions conditions
	trigger    ask.Trigger
	fire       func(cause, why string)
}

// NewLookout returns a Lookout that calls fire, which must not block, with the name of a
// condition that a line meets and the reason for people. The floor is that of
// [Config.StallFloor].
func NewLookout(t ask.Trigger, floor pause.Floor, fire func(cause, why string)) *Lookout {
	return &Lookout{conditions: conditions{floor: floor}, trigger: t, fire: fire}
}

// Line checks the next line; see [Watch.Line].
func (l *Lookout) Line(line []byte, c ul.Class, e *pause.Event) {
	if c.Kind == ul.Continuation {
		return
	}
	if a, ok := l.conditions.match(&l.trigger, line, c, e); ok {
		l.fire(a.reason, a.why)
	}
}

// Stop checks the next stop; see [Watch.Stop].
func (l *Lookout) Stop(stop *pause.Stop) {
	if !l.trigger.IOStall {
		return
	}
	if a, ok := l.conditions.matchStop(stop); ok {
		l.fire(a.reason, a.why)
	}
}

// saveNow answers a request to save withheld lines.
func (l *Loop) saveNow(r request) reply {
	if l.cfg.OnSave == nil {
		return failed(errors.New("this process ships no lines, and holds none"))
	}
	saving, err := l.cfg.OnSave(causeCommand, "ullage log save, "+r.by)
	out := failed(err)
	if err == nil {
		out.Saving = &saving
	}
	return out
}

// The causes of a saving that somebody asks for.
const (
	causeCommand    = "command"
	causeAnnotation = "annotation"
)

// saveAnnotated saves withheld lines if the annotation for that has a new value. The value
// that this process finds first may be older than the process, and saves nothing.
func (l *Loop) saveAnnotated() {
	was, is := l.notes.saved, l.notes.request.Save
	l.notes.saved = &is
	if was == nil || is == "" || is == *was || l.cfg.OnSave == nil {
		return
	}
	if _, err := l.cfg.OnSave(causeAnnotation, "annotation "+ask.Prefix+"save="+is); err != nil {
		l.log.Warn("saving withheld lines failed", "error", err)
	}
}
