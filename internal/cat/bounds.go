package cat

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/seek"
	"github.com/ullage/ullage/internal/segment"
)

const (
	indexAll   = 8 << 20  // memory of all seek files together; streams beyond are read without
	aheadBytes = 64 << 20 // how far ahead the runs of JVMs are looked for,
	aheadRuns  = 1024     // and how many
)

// bounds is when the lines of one stream were read, as far as the seek file of the stream
// and the times of its files show. The zero value has not looked.
type bounds struct {
	index  *seek.Index
	looked bool
	begun  string // the segment whose times were looked at
	wrote  bound  // its end
	tried  bound  // up to here the runs of JVMs were looked for
}

// bound is a place in a segment and a time by which all lines before it were written.
type bound struct {
	offset int64
	at     time.Time // zero: unknown
}

// seekIndex returns the seek file of the stream. A file that cannot be read is as none.
func (s *series) seekIndex() *seek.Index {
	b := &s.bounds
	if b.looked || s.dir == "" {
		return b.index
	}
	b.looked = true
	left := indexAll - s.p.indexed
	index, err := seek.Read(s.dir, left)
	if err == nil && index.Bytes() <= left {
		b.index = index
		s.p.indexed += index.Bytes()
	}
	return b.index
}

// next returns the first bound at an offset of seg or behind it: that of the seek file, or
// the end of the segment and its last write.
func (b *bounds) next(seg segment.Info, offset int64) bound {
	if named, ok := segment.ParseName(seg.Name); ok {
		if e, ok := b.index.Next(named.Seq, named.Start, offset); ok && e.Offset <= seg.Size {
			return bound{e.Offset, e.When()}
		}
	}
	if b.begun != seg.Name || b.wrote.offset != seg.Size {
		b.begun, b.wrote = seg.Name, bound{}
		if isOriginal(seg) {
			b.wrote = bound{seg.Size, seg.ModTime}
		}
	}
	return b.wrote
}

// span returns when the lines between two places of seg were read: not before from, and
// not after to. Zero: unknown, as all is without a seek file. Where the clock was set back,
// from is unknown.
func (b *bounds) span(seg segment.Info, begin, end int64) (from, to time.Time) {
	if b.index.Bytes() == 0 {
		return from, to
	}
	to = b.next(seg, end).at
	if named, ok := segment.ParseName(seg.Name); ok && !to.IsZero() {
		if e, ok := b.index.Last(named.Seq, begin); ok && !e.When().After(to) {
			from = e.When()
		}
	}
	return from, to
}

// isOriginal reports whether a segment is the file that the sidecar has written, and not
// a copy, whose last write tells nothing about lines: the file was made when its name says.
func isOriginal(seg segment.Info) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, seg.Path, unix.AT_STATX_DONT_SYNC, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 || seg.Start.IsZero() {
		return false
	}
	born := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	return born.Sub(seg.Start).Abs() < time.Minute && seg.ModTime.After(seg.Start)
}

// clock gives the timeline the times by which the lines of raw, a frame that was just
// read, were written: the creation of the segment that raw begins, what the seek file has
// at the end of raw, or now if raw was just appended.
func (s *series) clock(raw []byte) {
	seg := s.follower.Segment()
	frame := s.follower.Frame()
	first := seg.Name != s.segment && frame.Raw == int64(len(raw))
	begins, jumped := first && frame.From == 0 && !seg.Start.IsZero(), first && frame.From > 0
	s.segment = seg.Name
	if !s.pick.timed && !s.p.cfg.timed() {
		return
	}
	clock := &s.pick.clock
	if jumped {
		s.pick.orphan = hasRecord(raw, s.pick.class)
	}
	switch {
	case s.p.live:
		clock.point(time.Now(), clock.ends(raw))
		clock.from, clock.to = time.Time{}, time.Now()
		return
	case begins && seg.Compress == segment.None:
		clock.point(seg.Start, clock.ends(firstLine(raw))) // what follows may be much later
	case begins:
		clock.point(seg.Start, clock.ends(raw))
	}
	s.bound(seg, frame, raw)
}

// bound gives the timeline what the seek file and the times of the segment say about raw,
// which is a frame.
func (s *series) bound(seg segment.Info, frame segment.Frame, raw []byte) {
	clock, begin, end := &s.pick.clock, frame.Begin, frame.End
	clock.from, clock.to = s.bounds.span(seg, begin, end)
	r, ok := firstRecord(raw)
	if _, dated := r.When(); !ok || dated {
		return
	}
	next := s.bounds.next(seg, begin+1)
	switch {
	case next.at.IsZero():
	case next.offset == end:
		clock.point(next.at, clock.ends(raw))
	case next.offset < end && seg.Compress == segment.None:
		clock.point(next.at, clock.ends(raw[:next.offset-begin]))
	case len(clock.ahead) == 0 && clock.begins(raw):
		next = s.bounds.next(seg, end)
		if next == s.bounds.tried {
			return // there are too many, or they are too far
		}
		s.bounds.tried = next
		if ends, ok := s.endsUntil(seg, end, next.offset, clock.ends(raw)); ok {
			clock.point(next.at, ends)
		}
	}
}

// endsUntil adds the runs of JVMs between two offsets of a segment to ends. It returns
// false if it cannot read so far, or if there are too many.
func (s *series) endsUntil(seg segment.Info, from, to int64, ends ends) (_ ends, ok bool) {
	r, err := segment.OpenReader(seg.Path)
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
