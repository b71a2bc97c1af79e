package index

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

// Sum sums up some lines. The zero value is the sum of no lines.
type Sum struct {
	Raw   int64                // bytes of the lines, newlines included
	Lines [ul.NumLevels]uint64 // continuations have the level of their record

	// First and Last are the earliest and the latest time of the dated lines at the beginnings and
	// ends of frames, in UTC. Zero: no such line has a date.
	First, Last time.Time

	Gap ul.Gap // the sum of the gaps of all markers
}

// nearLines is how many lines at each end of a frame are searched for a date.
const nearLines = 16

// Frame adds the bytes and the dates of a frame. The caller counts the levels of
// its lines: Frame examines only a few lines at each end of the frame.
func (s *Sum) Frame(raw []byte) {
	s.Raw += int64(len(raw))
	for rest, n := raw, 0; len(rest) > 0 && n < nearLines; n++ {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		if s.date(rest[:end]) {
			break
		}
		rest = rest[end:]
	}
	for rest, n := raw, 0; len(rest) > 0 && n < nearLines; n++ {
		begin := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
		if s.date(rest[begin:]) {
			break
		}
		rest = rest[:begin]
	}
}

// longestHeader is how much of a line is searched for a date.
const longestHeader = 4 << 10

// date records the time of a line, and reports whether the line has one.
func (s *Sum) date(line []byte) bool {
	var r ul.Record
	head := bytes.TrimSuffix(line[:min(len(line), longestHeader)], []byte{'\n'})
	r.Parse(head)
	at, ok := r.When()
	if !ok {
		at, ok = format.When(head)
	}
	if !ok {
		return false
	}
	at = at.UTC()
	if s.First.IsZero() || at.Before(s.First) {
		s.First = at
	}
	if at.After(s.Last) {
		s.Last = at
	}
	return true
}

// markerBegin is a text that every marker contains.
var markerBegin = []byte("ullage] gap: ")

// Markers adds the gaps of the markers among lines.
func (s *Sum) Markers(lines []byte) {
	for at := bytes.Index(lines, markerBegin); at >= 0; at = bytes.Index(lines, markerBegin) {
		begin := bytes.LastIndexByte(lines[:at], '\n') + 1
		line, rest, _ := bytes.Cut(lines[begin:], []byte{'\n'})
		if g, ok := ul.ParseMarker(line); ok {
			s.Gap.Add(g)
		}
		lines = rest
	}
}
