package clock

import (
	"bytes"
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
)

const (
	aheadBytes = 64 << 20 // how far ahead to look for runs of JVMs
	aheadRuns  = 1024     // how many runs to look for
)

// Stream dates the lines of the segments of one stream. For each frame the reader calls
// Frame, and then Line for each line in it. The zero value has no seek file.
type Stream struct {
	Timeline

	// Index returns the seek file of the stream. Nil: there is none. Index is called for each
	// frame that has a line without a date or precedes the first line with a time, and for every
	// frame if Spans is set.
	Index func() *seek.Index

	// Spans means that the reader wants to know when each frame was read.
	Spans bool

	parser  ul.Parser
	segment string // the segment that was read last
	begun   string // the segment that wrote describes
	wrote   bound  // the end of that segment and the time of its last write; zero: unknown, or it is a copy
	tried   bound  // how far the search for the runs of JVMs has come
}

// bound is a place in a segment and a time by which all lines before it were written.
type bound struct {
	offset int64
	at     time.Time // zero: unknown
}

// Line receives a line that begins a record: a header, or a report of dropped lines. It returns
// the record, which is valid until the next call.
func (s *Stream) Line(head []byte) *ul.Record {
	r := s.parser.Parse(head)
	if _, dated := r.When(); !dated {
		s.Dated(format.When(head))
	}
	s.Date(r)
	return r
}

// Forget frees the last line, and with it the frame that contains the line. The record of
// the line is no longer valid.
func (s *Stream) Forget() { s.parser = ul.Parser{} }

// Frame records the times by which the lines of raw were written: the creation of the segment
// if raw begins it, the seek file's entry at the end of raw, and the last write to the segment.
// raw is the frame that was just read, or its rest if the reader has already dated its
// beginning. jumped means that reading of the segment begins with this frame although it is not
// the first.
func (s *Stream) Frame(seg segment.Info, frame segment.Frame, raw []byte) (jumped bool) {
	first := seg.Name != s.segment && frame.Raw == int64(len(raw))
	s.segment = seg.Name
	switch begins := first && frame.From == 0 && !seg.Start.IsZero(); {
	case begins && seg.Compress == segment.None:
		s.Point(seg.Start, s.Ends(FirstLine(raw))) // the rest may be much later
	case begins:
		s.Point(seg.Start, s.Ends(raw))
	}
	s.bound(seg, frame, raw)
	return first && frame.From > 0
}

// Live records that raw was just appended.
func (s *Stream) Live(seg segment.Info, raw []byte) {
	s.segment = seg.Name
	s.Point(time.Now(), s.Ends(raw))
	s.from, s.to = time.Time{}, time.Now()
	s.by = s.to
}

// FirstLine returns the first line of raw, which may be all of it.
func FirstLine(raw []byte) []byte {
	if n := bytes.IndexByte(raw, '\n'); n >= 0 {
		return raw[:n+1]
	}
	return raw
}

// index returns the seek file.
func (s *Stream) index() *seek.Index {
	if s.Index == nil {
		return nil
	}
	return s.Index()
}

// next returns the first bound at or after an offset of seg: that of the seek file, or the
// end of the segment with the time of its last write.
func (s *Stream) next(index *seek.Index, seg segment.Info, offset int64) bound {
	if named, ok := segment.ParseName(seg.Name); ok {
		if e, ok := index.Next(named.Seq, named.Start, offset); ok && e.Offset <= seg.Size {
			return bound{e.Offset, e.When()}
		}
	}
	if s.begun != seg.Name || s.wrote.offset != seg.Size {
		s.begun, s.wrote = seg.Name, bound{}
		if isOriginal(seg) {
			s.wrote = bound{seg.Size, seg.ModTime}
		}
	}
	if s.wrote.offset < offset {
		return bound{} // the segment has grown since
	}
	return s.wrote
}

// span returns when the lines between two places of seg were read: not before from and not
// after to. A zero time is unknown. Both are unknown without a seek file, and from is also
// unknown where the clock was set back.
func (s *Stream) span(index *seek.Index, seg segment.Info, begin, end int64) (from, to time.Time) {
	if index.Bytes() == 0 {
		return from, to
	}
	to = s.next(index, seg, end).at
	if named, ok := segment.ParseName(seg.Name); ok && !to.IsZero() {
		if e, ok := index.Last(named.Seq, begin); ok && !e.When().After(to) {
			from = e.When()
		}
	}
	return from, to
}

// isOriginal reports whether a segment is the file that the sidecar wrote, that is, whether the
// file was created at the time in its name. The last write to a copy says nothing about the
// lines.
func isOriginal(seg segment.Info) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, seg.Path, unix.AT_STATX_DONT_SYNC|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 || seg.Start.IsZero() {
		return false
	}
	born := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	return born.Sub(seg.Start).Abs() < time.Minute && seg.ModTime.After(seg.Start)
}

// bound records what the seek file and the times of the segment say about the
// frame raw.
func (s *Stream) bound(seg segment.Info, frame segment.Frame, raw []byte) {
	begin, end := frame.Begin, frame.End
	r, ok := firstRecord(raw)
	_, dated := r.When()
	undated := ok && !dated || anyUndated(raw)
	s.from, s.to, s.by = time.Time{}, time.Time{}, time.Time{}
	if !s.Spans && !undated && !s.last.IsZero() {
		return
	}
	index := s.index()
	s.from, s.to = s.span(index, seg, begin, end)
	if !undated {
		return
	}
	s.by = s.next(index, seg, end).at
	next := s.next(index, seg, begin+1)
	switch {
	case next.at.IsZero():
	case next.offset == end:
		s.Point(next.at, s.Ends(raw))
	case next.offset < end && seg.Compress == segment.None:
		s.Point(next.at, s.Ends(raw[:max(0, next.offset-(end-int64(len(raw))))]))
	case s.begins(raw) || s.late(raw, next.at):
		next = s.next(index, seg, end)
		if next == s.tried {
			return // there are too many runs, or they are too far ahead
		}
		s.tried = next
		if ends, ok := endsUntil(seg, end, next.offset, s.Ends(raw)); ok {
			s.Point(next.at, ends)
		}
	}
}

// endsUntil adds the runs of JVMs between two offsets of a segment to ends. It returns
// false if it cannot read that far, or if there are too many runs.
func endsUntil(seg segment.Info, from, to int64, ends Ends) (_ Ends, ok bool) {
	r, err := segment.OpenListed(seg)
	if err != nil {
		return nil, false
	}
	defer r.Close()
	r.SeekTo(from)
	for total := 0; r.Offset() < to && total < aheadBytes && len(ends) < aheadRuns; {
		raw, err := r.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ends, true
		}
		if err != nil {
			return nil, false
		}
		ends = ends.add(raw)
		total += len(raw)
	}
	return ends, r.Offset() >= to && len(ends) < aheadRuns
}
