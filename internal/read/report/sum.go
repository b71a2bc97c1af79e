package report

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/view"
)

// Bounds of what is kept, whatever the log has.
const (
	maxBands   = 300
	maxCauses  = 100
	maxTagSets = 512
	maxLongest = 10
)

// The kinds of stops, as the timeline shows them.
var kinds = [...]string{"young", "full", "degenerated", "concurrent", "safepoint", "stall"}

// sum gathers what all streams show.
type sum struct {
	cfg    Config
	out    view.Report
	tally  map[cause]*histogram
	parts  map[string]*histogram
	phases phases
	marks  map[string]*thin // stops by kind
	before *thin            // the heap before collections
	after  *thin
	size   *thin

	levels  [ul.NumLevels]view.Share
	tagSets map[string]*view.Share

	dated, undated bool
	begin, end     int64
	placed         bool

	span, spanStopped time.Duration
	waited            uint64 // suspected stops in which the JVM seems to have waited for the machine
	lost              losses
}

// cause is why the application stopped. It is comparable, and its text is made for the few
// that are shown.
type cause struct {
	kind   string // one of kinds
	action string // what the collector did, or the operation of the safepoint
	reason string // why the collector did it; "": unknown, or no collector
}

func (c cause) String() string {
	if c.reason == "" {
		return c.action
	}
	return c.action + " · " + c.reason
}

func newSum(cfg Config) *sum {
	s := &sum{cfg: cfg, out: view.Report{Floor: seconds(cfg.Floor.Duration())}, tally: map[cause]*histogram{}, parts: map[string]*histogram{}, tagSets: map[string]*view.Share{}}
	s.clear()
	for i := range s.levels {
		s.levels[i].Name = ul.Level(i).String()
	}
	return s
}

// clear removes everything from the axis of time.
func (s *sum) clear() {
	s.marks, s.before, s.after, s.size, s.out.Bands = map[string]*thin{}, newThin(), newThin(), newThin(), nil
	for _, kind := range kinds {
		s.marks[kind] = newThin()
	}
}

// axis turns a place in ns into seconds.
func axis(at int64) float64 { return float64(at/1e6) / 1e3 }

func (s *sum) windowed() bool { return s.cfg.window().Bounded() }

func (s *sum) within(when time.Time) bool { return s.cfg.window().Has(when) }

// newRun begins a run. Beyond a bound, runs are counted and not listed.
func (s *sum) newRun(st *stream, from *pause.Run) *run {
	r := &run{Run: view.Run{Stream: st.in.name, Number: from.Number}}
	r.describe(from)
	return r
}

// seen extends the axis to a time.
func (s *sum) seen(c pause.Clock, r *run) {
	dated := !c.Wall.IsZero()
	if dated && !s.dated {
		s.dated, s.placed = true, false
		s.clear() // what has no dates is not shown on an axis of dates
	}
	s.undated = s.undated || !dated
	s.out.Estimated = s.out.Estimated || c.Estimated
	if dated != s.dated {
		return
	}
	at := r.place(c)
	if !s.placed {
		s.begin, s.end, s.placed = at, at, true
	}
	s.begin, s.end = min(s.begin, at), max(s.end, at)
}

// tags returns the share of a set of tags.
func (s *sum) tags(name string) *view.Share {
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

// part adds a duration to one of the distributions.
func (s *sum) part(name string, d time.Duration) {
	h := s.parts[name]
	if h == nil {
		h = &histogram{}
		s.parts[name] = h
	}
	h.add(d)
}

// count adds a stop to the table of causes.
func (s *sum) count(c cause, d time.Duration) {
	h := s.tally[c]
	if h == nil && len(s.tally) >= maxCauses {
		c = cause{kind: c.kind, action: pause.Other}
		h = s.tally[c]
	}
	if h == nil {
		h = &histogram{}
		s.tally[c] = h
	}
	h.add(d)
}

// mark adds a stop to the timeline.
func (s *sum) mark(kind string, at pause.Clock, r *run, d time.Duration) {
	if at.Known() && s.dated == !at.Wall.IsZero() {
		s.marks[kind].add(r.place(at), seconds(d))
	}
}

// longest offers a stop to the list of the longest, and returns where to describe it.
func (s *sum) longest(d time.Duration) *view.Stop {
	all := s.out.Longest
	i := len(all)
	for i > 0 && all[i-1].Length < d {
		i--
	}
	if i >= maxLongest {
		return nil
	}
	if len(all) < maxLongest {
		all = append(all, view.Stop{})
	}
	copy(all[i+1:], all[i:])
	all[i] = view.Stop{Length: d, Duration: seconds(d)}
	s.out.Longest = all
	return &all[i]
}
