package tail

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ul"
)

// Saved is what a checkpoint knows of one file.
type Saved struct {
	Stream   string // empty: as its name says
	Position Position
	Gaps     string // those behind the position, encoded. Empty: none
	Anew     string // those of what is in a file that does not hold the position: it was truncated before they were recorded
	Epoch    int    // of this process, see [Chunk.Epoch]; not in a checkpoint
}

// Restore gives the positions of a checkpoint, before the first Scan. A file
// that does not hold its position is read from its beginning. Lost says that
// there was a checkpoint and is none: what the first Scan finds may be persisted
// already, and nothing of it is dropped before [Source.Aligned].
func (s *Source) Restore(files map[Identity]Saved, lost bool) {
	s.unaligned = lost
	for id, saved := range files {
		s.await(id, saved)
	}
}

// Aligned says that reading begins where persisting has ended.
func (s *Source) Aligned() {
	s.unaligned = false
	for _, f := range s.files {
		f.unaligned = false
	}
}

// Unheld returns the streams that have a file that did not hold its position.
// Of these the source cannot supply again what a checkpoint takes for
// uncommitted.
func (s *Source) Unheld() map[string]struct{} {
	names := map[string]struct{}{}
	for _, f := range s.files {
		if f.unheld {
			names[f.stream.name] = struct{}{}
		}
	}
	return names
}

// Unread returns the streams of which there is anything to read, or may be in a
// file that is not held yet.
func (s *Source) Unread() map[string]struct{} {
	names := map[string]struct{}{}
	for _, f := range s.files {
		if orphan := f.untoldOrphan(); f.read.Offset < f.size || f.read.Open || len(f.gaps) > 0 || orphan.Total() > 0 {
			names[f.stream.name] = struct{}{}
		}
	}
	for id := range s.waiting {
		names[s.saved[id].Stream] = struct{}{}
	}
	return names
}

// Anew takes nothing for committed any more: the positions of the checkpoint
// were wrong. Gaps stay, and Rewind comes next.
func (s *Source) Anew() {
	clear(s.saved)
	clear(s.waiting)
	for _, f := range s.files {
		f.committed = Position{}
	}
}

// restore moves a file that was just opened to its saved position.
func (s *Source) restore(f *File) {
	if data, err := f.nextData(0); err == nil {
		f.reclaimed = data &^ (pageSize - 1)
	}
	f.unaligned = s.unaligned
	saved, ok := s.saved[f.id]
	if !ok {
		return
	}
	delete(s.saved, f.id)
	delete(s.waiting, f.id)
	if f.holds(saved.Position) && s.moveTo(f, saved) {
		f.gapsChanged = true // a checkpoint may have forgotten the position meanwhile
		return
	}
	f.unheld = true
	s.metrics.truncations.Inc()
	s.log.Warn("a source file does not hold the checkpoint's position, reading it from its beginning", "file", f.name, "position", saved.Position.Offset)
	if saved.Anew != "" {
		f.restart()
		s.moveTo(f, Saved{Gaps: saved.Anew})
		return
	}
	f.gaps, f.orphan, _ = decodeGaps(saved.Gaps, saved.Position, s.gapsLeft()) // told of in front of what is there now
	s.restart(f)
}

// moveTo moves a file to a saved position, which it holds, and takes in the
// gaps that were recorded behind it. If it does not hold these, it reports false.
func (s *Source) moveTo(f *File, saved Saved) bool {
	gaps, orphan, err := decodeGaps(saved.Gaps, saved.Position, s.gapsLeft())
	for _, g := range gaps {
		if !f.holds(g.end) {
			return false
		}
	}
	if err == nil && saved.Position.Text != 0 && !inText(gaps, saved.Position) {
		err = errGaps
	}
	if err != nil {
		s.log.Error("the gaps of a source file do not fit it, its dropped lines are not told of", "file", f.name, "gaps", len(gaps), "error", err)
		gaps, orphan, saved.Position.Text = nil, ul.Gap{}, 0
	}
	if f.moveTo(saved.Position) != nil {
		return false
	}
	f.orphan = orphan
	f.setGaps(gaps)
	return true
}

// inText reports whether p is inside the text of the first gap.
func inText(gaps []gap, p Position) bool {
	return len(gaps) > 0 && gaps[0].start == p.Offset && gaps[0].text != nil && p.Text > 0 && p.Text <= gaps[0].text.length
}

// mostGaps bounds the gaps that are taken from what was saved: more than are
// ever recorded. Anybody could have written it.
const mostGaps = 8 << 10

func (s *Source) gapsLeft() int { return max(0, mostGaps-s.Gaps()) }

// Positions returns the read position of every file that is not at its
// beginning, or that has gaps, and those of files that may still be found.
func (s *Source) Positions() map[Identity]Saved {
	saved := map[Identity]Saved{}
	for id := range s.waiting {
		saved[id] = s.saved[id]
	}
	for id, f := range s.files {
		if orphan := f.untoldOrphan(); f.read.Offset > 0 || len(f.gaps) > 0 || orphan.Total() > 0 {
			saved[id] = Saved{Stream: f.stream.name, Position: f.read, Gaps: encodeGaps(f.gaps, orphan), Epoch: f.epoch}
		}
	}
	return saved
}

// StreamNames returns the names of the streams that have files.
func (s *Source) StreamNames() []string {
	var names []string
	for name := range s.streams {
		names = append(names, name)
	}
	return names
}

// Align finds, without a checkpoint, how far a stream was persisted: end is
// how the persisted copy ends, the more of it the better. The files of the
// stream are searched for it, and reading begins behind the place. If it is
// nowhere, everything that is in the files is read, and Align reports false.
func (s *Source) Align(stream string, end []byte) (bool, error) {
	st := s.streams[stream]
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
				continue // it was truncated: what is in it now is not older than the place
			}
			if err := older.skipTo(older.size); err != nil {
				older.restart() // truncated just now
			}
		}
		if err := f.skipTo(offset); err != nil {
			f.restart()
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
	k := checkSpan(offset)
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
	for k := min(len(a), len(b), pageSize); k > 0; k-- {
		whole := k == len(a) || a[len(a)-k-1] == '\n'
		if (inside || whole) && bytes.Equal(a[len(a)-k:], b[:k]) {
			return k
		}
	}
	return 0
}
