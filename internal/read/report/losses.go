package report

import (
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
)

// losses counts what is missing from the log, and what limits its use.
type losses struct {
	any                        bool // the report lacks something
	gaps, dropped, async, cuts uint64
	clockSteps, mixed          uint64 // of the wall clock; runs of two JVMs at once
	missed, truncations        uint64 // archives and files, by the marks of the sidecar
	moreRuns                   uint64 // that are not listed
	events                     uint64
}

// gap notes lines that the sidecar has dropped.
func (st *stream) gap(g *ul.Gap) {
	s := st.sum
	s.lost.gaps++
	s.lost.dropped += g.Total()
	s.band(view.Band{Kind: "dropped", Begin: axis(g.First.UnixNano()), End: axis(max(g.First.UnixNano(), g.Last.UnixNano())),
		Text: fmt.Sprintf("%s: the sidecar dropped %s", st.in.name, view.Plural(g.Total(), "line"))}, true)
}

// dropped notes lines that the JVM has dropped itself.
func (st *stream) dropped(n uint64) {
	st.sum.lost.async += n
	st.note("jvm-async", 0, fmt.Sprintf("%s: the JVM dropped %s (-Xlog:async)", st.in.name, view.Plural(n, "line")))
}

// cut notes a place where the JVM's disk was full.
func (st *stream) cut(lost time.Duration) {
	st.sum.lost.cuts++
	st.note("jvm-full", lost, st.in.name+": the JVM lost lines because its disk or tmpfs was full")
}

// note adds a band at the time of the present record.
func (st *stream) note(kind string, d time.Duration, text string) {
	c := st.dates.clock()
	if !c.Known() {
		return
	}
	if st.run == nil {
		st.at(c)
	}
	at := st.run.place(c)
	st.sum.band(view.Band{Kind: kind, Begin: axis(at), End: axis(at + int64(d)), Text: text}, !c.Wall.IsZero())
}

// restart notes that another JVM began.
func (s *sum) restart(r *run, c pause.Clock) {
	if c.Known() {
		at := axis(r.place(c))
		s.band(view.Band{Kind: "restart", Begin: at, End: at, Text: fmt.Sprintf("%s: run %d of a JVM begins", r.Stream, r.Number)}, !c.Wall.IsZero())
	}
}

// band adds a band, or extends the last one if there are too many.
func (s *sum) band(b view.Band, dated bool) {
	if dated != s.dated && (s.dated || s.undated) {
		return // the axis is not, or may not be, one of its times
	}
	n := len(s.out.Bands)
	if n > 0 {
		if last := &s.out.Bands[n-1]; last.Kind == b.Kind && b.Begin >= last.Begin && (n >= maxBands || b.Begin-last.End < 0.001 && !apart(b.Kind)) {
			last.End = max(last.End, b.End)
			return
		}
	}
	if n < maxBands {
		s.out.Bands = append(s.out.Bands, b)
	}
}

// apart reports whether each band of a kind is shown, also where two touch.
func apart(kind string) bool {
	return kind == "restart" || kind == "missing" || kind == "unreadable" || kind == "hole" || kind == "saved"
}
