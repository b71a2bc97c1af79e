package cat

import (
	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/clock"
)

// selector decides which lines of one stream are wanted. The beginning of a line decides
// for the whole line.
type selector struct {
	cfg   Config
	marks bool // the stream is the stream of marks
	dates clock.Dating
	cuts  ul.Cuts

	line   line // the last line
	passes bool // the last line passes
}

// line is what is known about a line.
type line struct {
	clock.Line
	lost *gap       // lines are missing here; without a marker, it is set only if gaps or marks are listed
	mark *mark.Mark // the line is this mark; set only if marks are listed
}

func newSelector(cfg Config, stream string) *selector {
	return &selector{cfg: cfg, marks: stream == mark.Stream, dates: clock.Dating{Class: cfg.Formats.Classifier(stream), Window: cfg.window(), Timed: cfg.timed()}}
}

// take reports whether a piece passes. Pieces must be passed in order. rest is the
// following text that has already been read.
func (s *selector) take(p cut.Piece, rest []byte) bool {
	if p.First {
		s.passes = s.decide(p.Head(), rest)
	}
	return s.passes
}

// decide reports whether the line with this beginning passes.
func (s *selector) decide(head, rest []byte) bool {
	if !s.dates.Timed && !s.cfg.selects() {
		return true
	}
	s.line = line{Line: *s.dates.Line(head, rest)}
	l := &s.line
	switch g := l.Gap; {
	case g != nil:
		l.lost = &gap{kind: dropped, at: g.First, lines: g.Total(), marker: *g}
	case s.cfg.Marks && s.marks:
		return s.findMark(head)
	case s.cfg.listing():
		return s.findGap(head)
	}
	level := l.Level
	if level == ul.Unknown {
		level = ul.Info
	}
	return level >= s.cfg.Level && l.Inside
}

// findMark reports whether a line is a mark in the window. Figures are meant for programs, so only JSON has them.
func (s *selector) findMark(head []byte) bool {
	m, ok := mark.Parse(head)
	if !ok || !s.line.Inside || !s.cfg.matches(mark.Stream) && !m.Concerns(s.cfg.matches) || m.Kind == mark.JVMFigures && !s.cfg.JSON {
		return false
	}
	s.line.mark = &m
	return true
}

// findGap reports whether a line in the window shows that the JVM itself lost lines.
func (s *selector) findGap(head []byte) bool {
	l := &s.line
	lost, cut := s.cuts.Find(head, l.Class)
	switch {
	case !l.Inside:
		return false
	case cut:
		l.lost = &gap{kind: full, at: l.Time, took: lost}
	case l.Kind == ul.Drop:
		l.lost = &gap{kind: async, at: l.Time, lines: l.Dropped}
	}
	return l.lost != nil
}
