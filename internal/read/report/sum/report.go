package sum

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ullage/ullage/internal/read/report/view"
)

// Empty reports whether there is nothing to report on.
func (s *Sum) Empty() bool { return s.unread() && len(s.figures.runs) == 0 }

// unread reports whether no line of a JVM's log was read.
func (s *Sum) unread() bool {
	headers := uint64(0)
	for i := range s.tagSets {
		headers += s.tagSets[i].Lines
	}
	return headers == 0 && !s.events
}

// Report makes the report of everything that was read.
func (s *Sum) Report() *view.Report {
	r := &s.out
	if s.unread() {
		s.figures.show(s)
	}
	s.losses()
	s.axis.show(r)
	r.Complete = !s.Lost.any
	s.throughput()
	s.tables.show(r)
	r.Longest, r.Suspected = s.lists.longest, s.lists.suspected
	for _, l := range s.levels {
		if l.Lines > 0 {
			r.Volume.Levels = append(r.Volume.Levels, l)
		}
	}
	slices.Reverse(r.Volume.Levels)
	r.Volume.Tags = topTags(s.tagSets)
	set, refused := s.sizes()
	r.Advice = set
	advise(r, s.lists.waited, s.lists.unshipped)
	r.Advice = append(r.Advice, refused...)
	fillAll(r)
	return r
}

// throughput computes the total over the runs whose time is known. If a run mixes two JVMs,
// there is no total: the part that was read before the mix became apparent says little
// about the rest.
func (s *Sum) throughput() {
	t := &s.out.Totals
	for i, of := range s.ofRuns {
		if of.stops == 0 {
			s.out.Runs[i].Throughput = nil // the stream may have no lines about stops
		}
	}
	if t.Mixed = s.Lost.mixed > 0; t.Mixed {
		t.Outside = t.Stops
		return
	}
	total := s.total()
	if t.Span = total.span; total.span > 0 && t.Stops > t.Outside {
		share := 1 - total.stopped/total.span
		t.Throughput = &share
	}
}

// topTags returns the tag sets with the most bytes, and one entry for the rest.
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
