package report

import (
	"fmt"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment"
)

// broken is a place where bytes of a stream are missing. It becomes a band, from the last
// time before it to the first one behind it. The zero value is no such place.
type broken struct {
	kind, text string
	begin      int64 // the last place on the axis before it
	known      bool  // begin is known
	dated      bool  // begin is a date
}

// broke notes that bytes are missing behind the lines that were read until now, the last
// record of which has a time. The caller has ended the last line.
func (st *stream) broke(kind, text string, c pause.Clock) {
	st.resume(true)
	b := broken{kind: kind, text: text}
	if c.Known() {
		st.at(c)
	}
	if c.Known() && st.run != nil {
		b.begin, b.known, b.dated = st.run.place(c), true, !c.Wall.IsZero()
	}
	st.broken = b
}

// resume adds the band of the place that the stream is broken at, as soon as the last record
// has a time. At the end of the stream or before another such place there is no record, and
// the band is the instant before the place.
func (st *stream) resume(ends bool) {
	b := st.broken
	if b.kind == "" {
		return
	}
	end := b.begin
	if !ends {
		c := st.dates.clock()
		if !c.Known() {
			return
		}
		if st.look(); st.run == nil {
			return
		}
		if end = st.run.place(c); !b.known {
			b.begin, b.known, b.dated = end, !st.sum.windowed(), !c.Wall.IsZero() // in a window, it may be long before
		}
	}
	if st.broken = (broken{}); b.known {
		st.sum.band(view.Band{Kind: b.kind, Begin: axis(b.begin), End: axis(max(b.begin, end)), Text: b.text}, b.dated)
	}
}

// sequence notes the segments that are missing between those that there are, and that
// retention has deleted the beginning of the stream.
func (st *stream) sequence() {
	in, cfg, n := st.in, st.sum.cfg, uint64(0)
	for i := range in.segs[1:] {
		n += segment.Missing(in.segs[i], in.segs[i+1], cfg.Since, cfg.Until)
	}
	st.sum.problem("missing", n, true, fmt.Sprintf("%s: %s missing that retention has not deleted", in.name, view.Plural(n, "segment")))
	if first := in.segs[0]; in.whole && first.Follows() > 0 && !in.isMarks() {
		short := !cfg.Since.IsZero() && cfg.Since.Before(first.Start)
		st.sum.problem("retention", 1, short, fmt.Sprintf("%s: retention has deleted what was before %s", in.name, first.Start.UTC().Format("2006-01-02 15:04:05Z")))
	}
}

// enter notes that the segment with an index is read next, and the one before it was read last.
func (st *stream) enter(before, next int) {
	n, cfg := uint64(0), st.sum.cfg
	for i := max(before, 0); i < next; i++ {
		n += segment.Missing(st.in.segs[i], st.in.segs[i+1], cfg.Since, cfg.Until)
	}
	if n > 0 {
		st.broke("missing", fmt.Sprintf("%s: %s missing", st.in.name, view.Plural(n, "segment")), st.dates.before())
	}
}
