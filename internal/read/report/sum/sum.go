// Package sum adds up the data of the streams and creates the report from it. It deals with
// runs, stops and collections, but not with lines or files.
//
//	stream → Run → Sum → view.Report
package sum

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	maxTagSets = 512
	maxCrashes = 20 // the most crashes that are listed, the latest ones
)

// Sum is the data of all streams.
type Sum struct {
	Lost Losses

	floor  pause.Floor
	least  time.Duration // how long a run must be before a size for its heap is derived
	out    view.Report
	axis   timeline
	tables tables
	lists  lists

	figures figures

	levels  [ul.NumLevels]view.Share
	tagSets map[string]*view.Share
	events  bool // a line was about a stop or a collection

	times  []*times // of each stream with a closed run, in the order in which the streams were read
	ofRuns []*times // for each listed run, the times of its stream
}

// times holds figures of one stream: the total duration of its runs, for how long they were stopped, and the number
// of its stops. Runs whose duration the log does not show add only their stops.
type times struct {
	span, stopped float64 // seconds
	stops         uint64
}

// add adds the times of a run or of a stream.
func (t *times) add(run times) {
	t.span, t.stopped, t.stops = t.span+run.span, t.stopped+run.stopped, t.stops+run.stops
}

// newTimes adds empty times for one more stream and returns them. Two streams may have the same name, in two
// directories.
func (s *Sum) newTimes() *times {
	t := &times{}
	s.times = append(s.times, t)
	return t
}

// list lists a run of the stream with these times.
func (s *Sum) list(run view.Run, of *times) {
	s.out.Runs, s.ofRuns = append(s.out.Runs, run), append(s.ofRuns, of)
}

// total returns the times of the streams that show stops. A stream without stops may be another log of the same JVM,
// for example the output of -Xlog:class+load, which never shows stops. If no stream shows stops, total returns the
// times of all streams.
func (s *Sum) total() times {
	var stopping, all times
	for _, t := range s.times {
		if all.add(*t); t.stops > 0 {
			stopping.add(*t)
		}
	}
	if stopping.stops > 0 {
		return stopping
	}
	return all
}

// New returns an empty sum. floor is the shortest length at which a stop is suspected of being a stall. least is
// how long the log of a run must be before a size for its heap is derived; 0: ten minutes.
func New(name string, floor pause.Floor, least time.Duration) *Sum {
	s := &Sum{floor: floor, least: cmp.Or(least, sizingWindow), out: view.Report{Name: name, Floor: seconds(floor.Duration())}, axis: newTimeline(), tagSets: map[string]*view.Share{},
		tables: tables{tally: map[cause]*histogram{}, parts: map[string]*histogram{}}}
	for i := range s.levels {
		s.levels[i].Name = ul.Level(i).String()
	}
	return s
}

// Problem records something that is missing or that could not be read.
func (s *Sum) Problem(kind view.ProblemKind, n uint64, loses bool, text string) {
	const most = 100
	s.Lost.any = s.Lost.any || loses && n > 0
	if n > 0 && len(s.out.Problems) < most {
		s.out.Problems = append(s.out.Problems, view.Problem{Kind: kind, Count: n, Loses: loses, Text: text})
	}
}

// Problems returns the recorded problems.
func (s *Sum) Problems() []view.Problem { return s.out.Problems }

// Input adds a stream that was read.
func (s *Sum) Input(in view.Input) { s.out.Inputs = append(s.out.Inputs, in) }

// Line counts a line.
func (s *Sum) Line(level ul.Level, bytes int) {
	share := &s.levels[level]
	share.Lines++
	share.Bytes += uint64(bytes)
}

// Tags returns the share of a tag set.
func (s *Sum) Tags(name string) *view.Share {
	if name == "" {
		name = "(none)"
	}
	share, ok := s.tagSets[name]
	if !ok && len(s.tagSets) >= maxTagSets {
		name = "(other)"
		share, ok = s.tagSets[name]
	}
	if !ok {
		share = &view.Share{Name: name}
		s.tagSets[name] = share
	}
	return share
}

// Event counts the event of a line. [Run.Stop] counts a stop, and [Run.Collection] a
// collection.
func (s *Sum) Event(e *pause.Event) {
	switch e.Kind {
	case pause.Phase:
		s.tables.phases.add(e)
		return
	case pause.Concurrent:
		s.tables.phases.add(e)
	case pause.Failure:
		if e.GC < 0 {
			s.out.Totals.Failed++
		}
	}
	s.events = true
}

// Band adds a band between two positions on the axis. dated means that the positions are dates.
func (s *Sum) Band(kind string, begin, end int64, text string, dated bool) {
	s.axis.band(view.Band{Kind: kind, Begin: axis(begin), End: axis(end), Text: text}, dated)
}

// BandOver adds the part of a band that is within the axis. It adds nothing if the axis is not one of dates.
func (s *Sum) BandOver(kind string, begin, end time.Time, text string) {
	t := &s.axis
	if !t.dated || !t.placed || end.UnixNano() < t.begin || begin.UnixNano() > t.end {
		return
	}
	s.Band(kind, max(begin.UnixNano(), t.begin), min(end.UnixNano(), t.end), text, true)
}

// End returns the end of the axis.
func (s *Sum) End() time.Time { return time.Unix(0, s.axis.end) }

// Crash adds a crash of a JVM, or another abnormal end.
func (s *Sum) Crash(at time.Time, c view.Crash) {
	c.At = axis(at.UnixNano())
	if c.Marked {
		s.out.Totals.Ends++
	} else {
		s.out.Totals.Crashes++
	}
	all := s.out.Crashes
	i := slices.IndexFunc(all, func(other view.Crash) bool { return other.At < c.At })
	if i < 0 {
		i = len(all)
	}
	all = slices.Insert(all, i, c)
	s.out.Crashes = all[:min(len(all), maxCrashes)]
}

// LastCrash returns the latest crash whose report was read, if there is one.
func (s *Sum) LastCrash() (c view.Crash, ok bool) {
	i := slices.IndexFunc(s.out.Crashes, func(c view.Crash) bool { return !c.Marked })
	if i < 0 {
		return view.Crash{}, false
	}
	return s.out.Crashes[i], true
}

// Complete adds the known properties of a JVM to its runs: in each stream, the run that started
// within two seconds of the given time. The log's own information takes precedence.
func (s *Sum) Complete(streams []string, at time.Time, jvm view.JVM) {
	const near = 2 * time.Second
	born, best := axis(at.UnixNano()), map[string]*view.Run{}
	away := func(r *view.Run) float64 { return math.Abs(r.Born - born) }
	for i := range s.out.Runs {
		r := &s.out.Runs[i]
		if r.Born == 0 || away(r) > near.Seconds() || !slices.Contains(streams, r.Stream) {
			continue
		}
		if other := best[r.Stream]; other == nil || away(r) < away(other) {
			best[r.Stream] = r
		}
	}
	for _, r := range best {
		r.Collector, r.Version, r.Flags = cmp.Or(r.Collector, jvm.Collector), cmp.Or(r.Version, jvm.Version), cmp.Or(r.Flags, jvm.Flags)
	}
}
