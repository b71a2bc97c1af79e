package sum

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// figures adds up what the marks of sidecars say about logs that are not read. The zero value is
// empty.
type figures struct {
	runs     map[figuredKey]*figured
	stops    histogram
	reaching time.Duration
	full     uint64
	suspects uint64
}

// figuredKey identifies a run of a JVM by its stream, the directory that has the stream's marks, and its number.
type figuredKey struct {
	stream, dir string
	run         int
}

// figured is what the marks say about one run. Sums are of untrusted numbers, so they must not
// overflow.
type figured struct {
	span, stopped         float64 // seconds
	allocated, allocating float64 // bytes, and seconds
	stops                 uint64
	heap                  int64
	heapAt                time.Time
}

// Figures adds what a mark in a directory says about a stream. A report uses it only if no log was read. It returns
// false if there are too many runs.
func (s *Sum) Figures(dir, stream string, f *pause.Figures) bool {
	all, key := &s.figures, figuredKey{stream, dir, f.Run}
	one := all.runs[key]
	if one == nil {
		if len(all.runs) >= view.MaxRuns-1 {
			return false
		}
		if all.runs == nil {
			all.runs = map[figuredKey]*figured{}
		}
		one = &figured{}
		all.runs[key] = one
	}
	for length, n := range f.Stops.All() {
		all.stops.addTimes(min(length, f.Longest), n)
		one.stops += n
	}
	all.stops.max = max(all.stops.max, f.Longest)
	all.reaching = max(all.reaching, f.Reaching)
	all.full += f.Full
	all.suspects += f.Suspected
	one.span, one.stopped = one.span+seconds(f.Span), one.stopped+seconds(f.Stopped)
	one.allocated, one.allocating = one.allocated+float64(f.Allocated), one.allocating+seconds(f.Allocating)
	if f.Heap > 0 {
		one.heap, one.heapAt = f.Heap, f.Until
	}
	s.Lost.Async += f.Lost
	for _, at := range []time.Time{f.Since, f.Until} {
		s.axis.see(pause.Clock{Wall: at}, at.UnixNano())
	}
	return true
}

// latest returns, for each stream, the time of the last figures that show the heap.
func (f *figures) latest() map[figuredKey]time.Time {
	all := map[figuredKey]time.Time{}
	for key, one := range f.runs {
		of := figuredKey{stream: key.stream, dir: key.dir}
		if one.heapAt.After(all[of]) {
			all[of] = one.heapAt
		}
	}
	return all
}

// show puts the figures into a report.
func (f *figures) show(s *Sum) {
	t := &s.out.Totals
	s.Problem(view.ProblemMarked, uint64(len(f.runs)), false, "no log was read: the figures are from the marks of the sidecar")
	stopped := 0.0
	latest, streams := f.latest(), map[figuredKey]*times{}
	of := func(key figuredKey) time.Time { return latest[figuredKey{stream: key.stream, dir: key.dir}] }
	for _, key := range slices.SortedFunc(maps.Keys(f.runs), func(a, b figuredKey) int { // the stream with the latest heap figure comes last
		return cmp.Or(of(a).Compare(of(b)), cmp.Compare(a.stream, b.stream), cmp.Compare(a.dir, b.dir), cmp.Compare(a.run, b.run))
	}) {
		one := f.runs[key]
		run := view.Run{Stream: key.stream, Number: key.run, Span: one.span, Stops: one.stops, Paused: one.stopped}
		if one.heap > 0 {
			after := float64(one.heap)
			run.HeapAfter = &after
		}
		if one.allocating >= leastRate.Seconds() {
			rate := one.allocated / one.allocating
			run.Allocated = &rate
		}
		stream := figuredKey{stream: key.stream, dir: key.dir}
		if streams[stream] == nil {
			streams[stream] = s.newTimes()
		}
		s.list(run, streams[stream])
		if one.stopped <= one.span {
			streams[stream].add(times{one.span, one.stopped, one.stops})
		} else {
			streams[stream].stops += one.stops
			t.Outside += one.stops
		}
		stopped += one.stopped
		t.Stops += one.stops
	}
	t.Full, t.Suspected = f.full, f.suspects
	f.stops.sum = duration(stopped)
	s.tables.parts["stops"] = &f.stops
	s.tables.parts["time to safepoint"] = &histogram{max: f.reaching}
}

// duration returns a number of seconds as a duration, or the longest one.
func duration(seconds float64) time.Duration {
	return time.Duration(min(seconds*1e9, math.MaxInt64/2))
}
