package cat

import (
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/clock"
)

// selector decides which lines of one stream are wanted, and finds their level and time.
// The beginning of a line decides about the whole of it.
type selector struct {
	cfg   Config
	timed bool // the times of lines are needed, though cfg does not say so
	marks bool // the stream is that of marks

	class  format.Classifier
	cuts   ul.Cuts
	clock  clock.Stream
	began  bool      // a record was seen
	record bool      // the last record passes, and so do its continuations
	orphan bool      // until the next record, lines belong to one that is not wanted
	when   time.Time // the time of the last record that has one; zero: none has
	past   clock.Past

	line   line // the last one
	passes bool // it passes
}

// line is what is known about a line.
type line struct {
	kind  ul.Kind
	level ul.Level
	time  time.Time  // zero: unknown
	run   int        // of the JVM, from 1 up; 0: unknown
	hole  *hole      // lines are missing here: a gap, or, in a list, any hole
	mark  *mark.Mark // the line is one; only in a list
}

// take reports whether a piece passes. Pieces come in their order. Rest is what is known to
// follow.
func (s *selector) take(p cut.Piece, rest []byte) bool {
	if p.First {
		s.passes = s.decide(p.Head(), rest)
	}
	return s.passes
}

// over reports whether all that follows in the stream is later than Until.
func (s *selector) over() bool { return s.past.Over() }

// decide reports whether the line with this beginning passes.
func (s *selector) decide(head, rest []byte) bool {
	timed := s.timed || s.cfg.timed() || s.cfg.listing()
	if !s.cfg.selects() && !timed {
		return true
	}
	if g, ok := ul.ParseMarker(head); ok {
		return s.decideGap(g)
	}
	class := s.class.Classify(head, rest)
	s.line = line{kind: class.Kind, level: class.Level}
	if timed {
		s.date(head)
		s.line.run = s.clock.Run()
	}
	if s.orphan = s.orphan && class.Kind != ul.Header && class.Kind != ul.Drop; s.orphan {
		return false
	}
	switch {
	case s.cfg.Marks && s.marks:
		return s.findMark(head)
	case s.cfg.listing():
		return s.findHole(head, class)
	}
	if class.Kind == ul.Continuation && s.began {
		return s.record
	}
	level := class.Level
	if level == ul.Unknown {
		level = ul.Info
	}
	pass := level >= s.cfg.Level && s.inside()
	if class.Kind != ul.Drop { // which may stand before a continuation
		s.began, s.record = true, pass
	}
	return pass
}

// inside reports whether the time of the present line is wanted.
func (s *selector) inside() bool { return s.clock.Inside(s.cfg.Since, s.cfg.Until) }

// date finds the time of a line: that of its record or, in a stream without times, the
// time at which it was read.
func (s *selector) date(head []byte) {
	if s.line.kind == ul.Header || s.line.kind == ul.Drop {
		s.clock.Line(head)
		if when, _ := s.clock.Last(); !when.IsZero() {
			s.when = when
			s.past.See(when, s.cfg.Until)
		}
	}
	s.line.time = s.when
	if s.when.IsZero() {
		from, to := s.clock.Read()
		s.line.time = to
		s.past.See(from, s.cfg.Until)
	}
}

// decideGap reports whether the marker of a gap passes. The marker is not a line of the
// JVM: a line without a level or date of its own does not inherit those of a marker.
func (s *selector) decideGap(g ul.Gap) bool {
	s.line = line{kind: ul.Header, level: ul.Warning, time: g.First, run: s.clock.Run(), hole: &hole{kind: dropped, at: g.First, lines: g.Total(), gap: g}}
	return ul.Warning >= s.cfg.Level && s.cfg.within(g.First)
}

// findMark reports whether a line is a mark in the window.
func (s *selector) findMark(head []byte) bool {
	m, ok := mark.Parse(head)
	if !ok || !s.inside() || !s.cfg.matches(mark.Stream) && !m.Concerns(s.cfg.matches) {
		return false
	}
	s.line.mark = &m
	return true
}

// findHole reports whether the JVM itself lost lines at a line in the window.
func (s *selector) findHole(head []byte, class ul.Class) bool {
	lost, cut := s.cuts.Find(head)
	switch {
	case !s.inside():
		return false
	case cut:
		s.line.hole = &hole{kind: full, at: s.line.time, took: lost}
	case class.Kind == ul.Drop:
		s.line.hole = &hole{kind: async, at: s.line.time, lines: class.Dropped}
	}
	return s.line.hole != nil
}
