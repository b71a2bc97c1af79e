package levels

import (
	"errors"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/control"
)

// saveNow answers a request to save withheld lines.
func (l *Loop) saveNow(r control.Request) control.Reply {
	if l.to.Save == nil {
		return control.Failed(errors.New("this process ships no lines, so it holds none"))
	}
	saving, err := l.to.Save(causeCommand, "ullage levels save, "+r.By)
	out := control.Failed(err)
	if err == nil {
		out.Saving = &saving
	}
	return out
}

// The causes when lines are saved on request.
const (
	causeCommand    = "command"
	causeAnnotation = "annotation"
)

// saveAnnotated saves withheld lines if the annotation save has a new value. The first value that
// this process finds may be older than the process, so it saves nothing.
func (l *Loop) saveAnnotated() {
	was, is := l.notes.saved, l.notes.request.Save
	l.notes.saved = &is
	if was == nil || is == "" || is == *was || l.to.Save == nil {
		return
	}
	if _, err := l.to.Save(causeAnnotation, "annotation "+ask.Prefix+"save="+is); err != nil {
		// messages.md#hindsight: The annotation `ullage.dev/save` asks for held lines, but nothing
		// is held: see `error`.
		l.log.Warn("saving withheld lines failed", "error", err)
	}
}
