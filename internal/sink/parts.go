package sink

import (
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// Parts are the parts of a line, for engines that take them separately. The slices share
// the memory of the line, or are constants.
type Parts struct {
	Message []byte // the line without its decorations
	Tags    []byte // separated by commas; nil: the line has none
	PID     []byte // digits; nil: not shown, or not certain
	TID     []byte // digits; nil: like PID

	Uptime time.Duration // negative: not shown
	GC     int64         // the number of the garbage collection; negative: not shown

	Gap    ul.Gap // valid if IsGap
	IsGap  bool   // the line is a marker, which represents lines that the sidecar dropped
	Missed uint64 // how many lines the JVM itself dropped, according to this line
}

// Parts splits the line.
func (l *Line) Parts() Parts {
	p := Parts{Message: l.Text, Uptime: -1, GC: -1, Missed: l.Dropped}
	if l.Kind == ul.Text {
		return p
	}
	var r ul.Record
	if r.Parse(l.Text); l.Kind == ul.Continuation && r.Kind != ul.Continuation {
		return p // the text resembles a header by accident
	}
	p.Message = r.Message
	if len(r.Tags) > 0 {
		p.Tags = r.Tags
	}
	if r.Ambiguous&ul.PID == 0 {
		p.PID, p.TID = r.PID, r.TID
	}
	if up, ok := r.Since(); ok {
		p.Uptime = up
	}
	if id, ok := r.Collection(); ok {
		p.GC = int64(id)
	}
	if l.Level == ul.Warning && string(p.Tags) == "ullage" {
		p.Gap, p.IsGap = ul.ParseMarker(l.Text)
	}
	return p
}
