package tail

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
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
		offset, found, err := f.findEnd(end)
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		for _, older := range st.files[:i] {
			if older.unheld {
				continue
			}
			if err := older.skipTo(older.size); err != nil {
				older.restart() // truncated just now
			}
		}
		if err := f.skipTo(offset); err != nil {
			f.restart()
		} else {
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

// skipTo moves all positions of f to offset. Markers of gaps before it are
// where the search has found what is before it.
func (f *File) skipTo(offset int64) error {
	gaps := slices.DeleteFunc(f.gaps, func(g gap) bool { return g.start < offset })
	counted := f.counted
	f.gaps = nil
	f.restart()
	f.setGaps(gaps)
	f.read.Offset = offset
	k := position.Span(offset)
	n, err := unix.Pread(f.fd, f.seen[:k], offset-int64(k))
	if err != nil {
		return fmt.Errorf("read the bytes before offset %d of %q: %w", offset, f.name, err)
	}
	if n != k {
		return fmt.Errorf("read the bytes before offset %d of %q: %w", offset, f.name, errRewritten)
	}
	f.seenLen = k
	f.setCheck()
	err = f.moveTo(f.read)
	f.counted = max(f.counted, counted)
	return err
}

// findEnd returns the offset in f behind the bytes of end. Only the last part
// of end may be left, and stand where the file's data begins: the pages
// before were given back, or the rest of end is in an older file.
func (f *File) findEnd(end []byte) (offset int64, found bool, err error) {
	start, err := f.nextData(0)
	if err != nil {
		return 0, false, err
	}
	buf := make([]byte, len(end)+blockBytes)
	kept := 0
	for at := start; ; {
		if data, err := f.nextData(at); err == nil && data > at {
			at, kept = data, 0 // over a hole
		}
		if at >= f.size && at > start {
			return offset, found, nil // as it was when the search began: it may grow for ever
		}
		n, err := unix.Pread(f.fd, buf[kept:], at)
		if err != nil {
			return 0, false, fmt.Errorf("search %q: %w", f.name, err)
		}
		window := buf[:kept+n]
		if at == start {
			if k := overlap(end, window, start > 0); k > 0 {
				offset, found = start+int64(k), true
			}
		}
		if i := bytes.Index(window, end); i >= 0 {
			return at - int64(kept) + int64(i+len(end)), true, nil
		}
		if n == 0 {
			return offset, found, nil
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
