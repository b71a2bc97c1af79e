package levels

import (
	"errors"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// Saving is what a request to save withheld lines has begun.
type Saving struct {
	From  time.Time `json:"from,omitzero"` // since when the oldest lines that are held were written
	Until time.Time `json:"until"`         // lines that are written until then are saved as well
	Bytes int64     `json:"bytes"`         // that are held, compressed
}

// saveNow answers a request to save withheld lines.
func (l *Loop) saveNow(r request) reply {
	if l.to.Save == nil {
		return failed(errors.New("this process ships no lines, and holds none"))
	}
	saving, err := l.to.Save(causeCommand, "ullage log save, "+r.by)
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
	if was == nil || is == "" || is == *was || l.to.Save == nil {
		return
	}
	if _, err := l.to.Save(causeAnnotation, "annotation "+ask.Prefix+"save="+is); err != nil {
		// messages.md#hindsight: The annotation `ullage.dev/save` asks for held lines, and nothing
		// is held: see `error`.
		l.log.Warn("saving withheld lines failed", "error", err)
	}
}
