package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/read/report/view"
)

// problem notes something that is missing or that could not be read.
func (s *sum) problem(kind string, n uint64, loses bool, text string) {
	const most = 100
	s.lost.any = s.lost.any || loses && n > 0
	if n > 0 && len(s.out.Problems) < most {
		s.out.Problems = append(s.out.Problems, view.Problem{Kind: kind, Count: n, Loses: loses, Text: text})
	}
}

// finish adds what one stream was.
func (s *sum) finish(st *stream) {
	s.out.Inputs = append(s.out.Inputs, st.out)
	name, odd := st.in.name, &st.odd
	s.lost.events += uint64(st.events)
	if st.foreign() {
		log := naming.KindOf(name) == naming.KindLog // nothing is expected in what else a JVM writes
		s.problem("foreign", st.out.Lines, log, fmt.Sprintf("%s: nothing in it is Unified Logging, and %s not used", name, view.Plural(st.out.Lines, "line")))
	} else {
		s.problem("foreign", odd.bare, false, fmt.Sprintf("%s: %s of %d without decorations: further lines of a message, or another program's", name, view.Plural(odd.bare, "line"), st.out.Lines))
	}
	s.problem("unread", odd.unread, true, fmt.Sprintf("%s: %s in no figure that may be a pause, but cut or in an unknown form", name, view.Plural(odd.unread, "line")))
	s.problem("hole", st.source.Lines.Holes, true, fmt.Sprintf("%s: a hole of %d bytes, as a sidecar leaves where it has reclaimed memory; report on its destination instead", name, st.source.Lines.Holes))
	s.problem("long", odd.long, false, fmt.Sprintf("%s: only the beginning of %s longer than 64 KiB was looked at", name, view.Plural(odd.long, "line")))
	s.problem("undated", st.dates.untimed, true, fmt.Sprintf("%s: --since and --until left out %s whose time is not known", name, view.Plural(st.dates.untimed, "line")))
}

// foreign reports whether no line of the stream is Unified Logging.
func (st *stream) foreign() bool {
	return st.odd.headers == 0 && st.dates.untimed == 0 && st.events == 0 && st.out.Lines > 0
}

// report makes the report of everything that was read.
func (s *sum) report() (*view.Report, error) {
	headers := uint64(0)
	for i := range s.tagSets {
		headers += s.tagSets[i].Lines
	}
	if headers == 0 && s.lost.events == 0 {
		return nil, s.nothing()
	}
	r := &s.out
	s.losses()
	r.Timed, r.Dated = s.placed, s.dated
	r.Begin, r.End = axis(s.begin), axis(s.end)
	r.Complete = !s.lost.any
	s.throughput()
	s.spreads()
	for _, kind := range kinds {
		if points := pointsOf(s.marks[kind]); len(points) > 0 {
			r.Series = append(r.Series, view.Series{Kind: kind, Points: points})
		}
	}
	r.Heap = view.Heap{Before: pointsOf(s.before), After: pointsOf(s.after), Capacity: pointsOf(s.size)}
	for _, l := range s.levels {
		if l.Lines > 0 {
			r.Volume.Levels = append(r.Volume.Levels, l)
		}
	}
	slices.Reverse(r.Volume.Levels)
	r.Volume.Tags = topTags(s.tagSets)
	advise(r, s.waited)
	fillAll(r)
	return r, nil
}

// throughput works out the total over the runs whose time is known. Beside a run of two
// JVMs there is none: what was read until it showed says little about the rest.
func (s *sum) throughput() {
	t := &s.out.Totals
	for i := range s.out.Runs {
		if t.Stops == 0 {
			s.out.Runs[i].Throughput = nil // the log may have no line about stops
		}
	}
	if t.Mixed = s.lost.mixed > 0; t.Mixed {
		t.Outside = t.Stops
		return
	}
	if t.Span = seconds(s.span); s.span > 0 && t.Stops > t.Outside {
		share := 1 - seconds(s.spanStopped)/t.Span
		t.Throughput = &share
	}
}

// nothing is the error for input that has no line of Unified Logging.
func (s *sum) nothing() error {
	text := "the input is empty"
	switch {
	case s.windowed():
		text = "no line is in the window"
	case len(s.out.Crashes) > 0:
		text = "there is only the report of a crash, " + s.out.Crashes[0].File
	}
	for _, p := range s.out.Problems {
		if text = p.Text; p.Kind == "undated" {
			return fmt.Errorf("%w: %s; log with the decorator time, or report on a destination of 'ullage run', which shows when its lines were written", ErrNoDate, text)
		}
	}
	return fmt.Errorf("%w: %s", ErrNoLog, text)
}

// losses adds the problems that were counted.
func (s *sum) losses() {
	l := &s.lost
	s.problem("dropped", l.gaps, true, fmt.Sprintf("the sidecar dropped %s at %s", view.Plural(l.dropped, "line"), view.Plural(l.gaps, "place")))
	s.problem("jvm-async", l.async, true, fmt.Sprintf("JVMs dropped %s themselves (-Xlog:async)", view.Plural(l.async, "line")))
	s.problem("jvm-full", l.cuts, true, fmt.Sprintf("JVMs lost lines at %s because their disk or tmpfs was full", view.Plural(l.cuts, "place")))
	s.problem("missed", l.missed, true, fmt.Sprintf("JVMs overwrote %s before the sidecar read it", view.Plural(l.missed, "archive")))
	s.problem("truncated", l.truncations, true, fmt.Sprintf("a file was truncated in place, %s; what the sidecar had not read by then is missing", view.Plural(l.truncations, "time")))
	s.problem("mixed", s.lost.mixed, true, fmt.Sprintf("the lines of two JVMs interleave in %s; throughput, worst minute, rates and heap of these are left out, and there is none of all runs together", view.Plural(s.lost.mixed, "run")))
	if s.lost.mixed > 0 {
		s.lost.clockSteps = 0 // two JVMs look like it
	}
	s.problem("clock", s.lost.clockSteps, false, fmt.Sprintf("the wall clock was set, %s; where lines have an uptime, spans follow that", view.Plural(s.lost.clockSteps, "time")))
	if t := &s.out.Totals; s.span > 0 && s.lost.mixed == 0 {
		s.problem("outside", t.Outside, false, fmt.Sprintf("%s of %d in runs whose time the log does not show: throughput and rates are those of the others", view.Plural(t.Outside, "stop"), t.Stops))
	}
	s.problem("runs", s.lost.moreRuns, false, fmt.Sprintf("%s in the totals but not listed", view.Plural(s.lost.moreRuns, "further run")))
	if !s.placed {
		s.problem("undated", 1, false, "the lines have no times: there is no axis of time, no throughput and no rate")
	}
	if s.dated && s.undated {
		s.problem("undated", 1, false, "some lines have no date: what they show is in the tables and not on the axis of time")
	}
}

// spreads makes the distributions and the table of causes.
func (s *sum) spreads() {
	r := &s.out
	for _, name := range []string{"stops", "pauses of the collector", "other safepoints", "time to safepoint", "allocation stalls of single threads", "relocation stalls of single threads"} {
		if h := s.parts[name]; h != nil {
			r.Spreads = append(r.Spreads, spreadOf(name, "", h))
		}
	}
	r.Phases = s.phases.spreads()
	if h := s.parts["stops"]; h != nil {
		r.Bars = h.bars()
		r.Totals.Paused = seconds(h.sum)
	}
	for c, h := range s.tally {
		r.Causes = append(r.Causes, spreadOf(c.String(), c.kind, h))
	}
	bySum(r.Causes)
}

func bySum(all []view.Spread) {
	slices.SortFunc(all, func(a, b view.Spread) int {
		return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
}

func spreadOf(name, kind string, h *histogram) view.Spread {
	s := view.Spread{Name: name, Kind: kind, Count: h.n, Sum: seconds(h.sum), Max: seconds(h.max)}
	p := &s.Percentiles
	for _, q := range []struct {
		share float64
		to    **float64
	}{{0.5, &p.P50}, {0.9, &p.P90}, {0.99, &p.P99}, {0.999, &p.P999}, {0.9999, &p.P9999}, {0.99999, &p.P99999}} {
		if d, ok := h.quantile(q.share); ok {
			*q.to = pointer(d)
		}
	}
	return s
}

func pointsOf(t *thin) []view.Point {
	var all []view.Point
	for _, c := range t.points() {
		all = append(all, view.Point{At: axis(c.at), Value: c.value, N: c.n})
	}
	return all
}

// topTags returns the sets of tags with the most bytes, and the rest as one.
func topTags(sets map[string]*view.Share) (top []view.Share) {
	const most = 15
	var rest view.Share
	all := slices.SortedFunc(maps.Values(sets), func(a, b *view.Share) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	for i, share := range all {
		if i < most {
			top = append(top, *share)
			continue
		}
		rest.Lines, rest.Bytes = rest.Lines+share.Lines, rest.Bytes+share.Bytes
	}
	if rest.Lines > 0 {
		rest.Name = fmt.Sprintf("%d others", len(all)-most)
		top = append(top, rest)
	}
	return top
}

// fillAll makes lists empty instead of null in JSON.
func fillAll(r *view.Report) {
	fill(&r.Crashes)
	fill(&r.Problems)
	fill(&r.Inputs)
	fill(&r.Runs)
	fill(&r.Spreads)
	fill(&r.Causes)
	fill(&r.Phases)
	fill(&r.Longest)
	fill(&r.Suspected)
	fill(&r.Bars)
	fill(&r.Advice)
	fill(&r.Bands)
	fill(&r.Series)
	fill(&r.Heap.Before)
	fill(&r.Heap.After)
	fill(&r.Heap.Capacity)
	fill(&r.Volume.Levels)
	fill(&r.Volume.Tags)
	for i := range r.Runs {
		fill(&r.Runs[i].Settings)
	}
	for i := range r.Longest {
		fill(&r.Longest[i].Lines)
	}
	for _, s := range r.Suspected {
		fill(&s.Lines)
	}
}

func fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}
