package tail

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/spool"
	"github.com/ullage/ullage/internal/ul"
)

// Align finds, without a checkpoint, how far a stream was persisted: end is
// how the persisted copy ends, the more of it the better. The files of the
// stream are searched for it, and reading begins behind the place. If it is
// nowhere, everything that is in the files is read, and Align reports false.
//
// Align takes the files before the place for persisted, because files are read in
// the order of their birth. It does not skip a file that did not hold its saved
// position: somebody truncated that file, so its lines may be newer than the place.
func (s *Source) Align(stream string, end []byte) (bool, error) {
	st := s.streams.byName[stream]
	s.open.align(stream, len(end) > 0 && end[len(end)-1] != '\n')
	if end = behindMarkers(end); st == nil || len(end) == 0 {
		return false, nil
	}
	for i, f := range st.files {
		offset, found, err := s.findEnd(f, end)
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		for _, older := range slices.Clone(st.files[:i]) {
			switch {
			case older.unheld:
			case older.held():
				s.skipTo(older, older.size)
			default:
				s.skipTo(older, math.MaxInt64)
			}
		}
		if s.skipTo(f, offset) {
			s.open.align(stream, false) // f has the rest
		}
		return true, nil
	}
	return false, nil
}

// behindMarkers returns what of a persisted end is behind the last marker of a
// gap: what is before that is not in the source any more.
func behindMarkers(end []byte) []byte {
	for at := len(end); at > 0; {
		begin := bytes.LastIndexByte(end[:at-1], '\n') + 1
		if _, ok := ul.ParseMarker(end[begin:at]); ok {
			return end[at:]
		}
		at = begin
	}
	return end
}

// skipTo moves all positions of f to offset, and gives back the records before
// it. It reports whether f still has what was found in it.
func (s *Source) skipTo(f *File, offset int64) bool {
	for _, r := range f.records.list {
		if r.From < offset && offset < r.End.Offset {
			offset = r.From // no position lies inside a record: its lines are persisted again
		}
	}
	if !f.held() {
		if last := f.records.last(); last != nil && offset <= last.End.Offset {
			f.read = position.Position{Offset: offset}
		}
		f.queued, f.committed = f.read, f.read
		f.records.freeBefore(offset)
		return true
	}
	counted := f.counted
	p, err := position.At(f.fd, offset)
	if err == nil {
		err = f.moveTo(p)
	}
	if err != nil {
		s.renew(f) // truncated just now
		return false
	}
	f.counted = max(f.counted, counted)
	f.records.freeBefore(offset)
	return true
}

// findEnd returns the offset in f behind the bytes of end, which stand in the
// file, or in a record that its lines were moved to.
func (s *Source) findEnd(f *File, end []byte) (offset int64, found bool, err error) {
	part := int64(0)
	if f.held() {
		var exact bool
		if part, exact, err = f.searchFile(end); err != nil || exact {
			return part, exact, err
		}
	}
	for i := range f.records.list {
		r := &f.records.list[i]
		o := spool.Reading{Data: s.spool.area(AreaBytes)[:0]}
		if r.Empty() || r.log.Read(&o, r.Record) != nil {
			continue
		}
		o.Mark()
		if lines := behindMarkers(o.Data); len(lines) > 0 && (bytes.HasSuffix(lines, end) || bytes.HasSuffix(end, lines)) {
			return r.End.Offset, true, nil
		}
	}
	return part, part > 0, nil
}

// searchFile returns the offset in the file behind the bytes of end. If only the
// last part of end is there, where data begins, because the pages before were
// given back or the rest of end is in an older file, that is not exact.
func (f *File) searchFile(end []byte) (offset int64, exact bool, err error) {
	start, err := f.nextData(0)
	if err != nil {
		return 0, false, err
	}
	buf := make([]byte, len(end)+blockBytes)
	kept, longest, begins := 0, 0, true
	for at := start; ; {
		if data, err := f.nextData(at); err == nil && data > at {
			at, kept, begins = data, 0, true // over a hole
		}
		if at >= f.size && at > start {
			return offset, false, nil // as it was when the search began: it may grow for ever
		}
		n, err := unix.Pread(f.fd, buf[kept:], at)
		if err != nil {
			return 0, false, fmt.Errorf("search %q: %w", f.name, err)
		}
		window := buf[:kept+n]
		if begins {
			if k := overlap(end, window, at > 0); k > longest {
				offset, longest = at+int64(k), k
			}
			begins = false
		}
		if i := bytes.Index(window, end); i >= 0 {
			return at - int64(kept) + int64(i+len(end)), true, nil
		}
		if n == 0 {
			return offset, false, nil
		}
		at += int64(n)
		kept = copy(buf, window[max(0, len(window)-len(end)):])
	}
}

// overlap returns the length of the longest end of a that b begins with, at
// most a page: no more than that is left before a committed position. Unless
// b may begin inside a line, the end has to be whole lines.
func overlap(a, b []byte, inside bool) int {
	for k := min(len(a), len(b), position.PageSize); k > 0; k-- {
		whole := k == len(a) || a[len(a)-k-1] == '\n'
		if (inside || whole) && bytes.Equal(a[len(a)-k:], b[:k]) {
			return k
		}
	}
	return 0
}
