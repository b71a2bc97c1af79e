package tail

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/spool"
	"github.com/ullage/ullage/internal/ul"
)

// A spooled is a record of the spool, with the log that it is in: where the
// state directory is replaced, older records stay in the file that was there.
type spooled struct {
	*spool.Record
	log *spool.Log

	// full says that the record's pages of the source file still have data, so
	// that data in them does not tell of a truncation.
	full bool
}

// records are those of one content whose lines are not durable, in the order of
// the content, and without overlaps.
type records struct {
	list  []spooled
	bytes int64 // of the content that they stand for
	lost  int64 // ... and that were dropped
}

func (r *records) empty() bool { return len(r.list) == 0 }

// at returns the index of the first record that begins at or behind offset.
func (r *records) at(offset int64) int {
	at, _ := slices.BinarySearchFunc(r.list, offset, func(rec spooled, offset int64) int {
		if rec.From < offset {
			return -1
		}
		return 1
	})
	return at
}

// next returns the first record that begins at or behind offset, or nil. It is
// valid until the list changes.
func (r *records) next(offset int64) *spooled {
	if at := r.at(offset); at < len(r.list) {
		return &r.list[at]
	}
	return nil
}

// last returns the last record, or nil.
func (r *records) last() *spooled {
	if r.empty() {
		return nil
	}
	return &r.list[len(r.list)-1]
}

// memory returns how many bytes of memory the records take in the spool.
func (r *records) memory() (sum int64) {
	for i := range r.list {
		sum += r.list[i].Memory()
	}
	return sum
}

// add adds a record behind all others.
func (r *records) add(rec spooled) {
	r.list = append(r.list, rec)
	r.count(&rec, 1)
}

// count takes a record into the sums, or with -1 out of them.
func (r *records) count(rec *spooled, sign int64) {
	gap := rec.Gap()
	r.bytes += sign * (rec.End.Offset - rec.From)
	r.lost += sign * int64(gap.Bytes)
}

// freeBefore gives back the records that end at or before offset, since their
// lines are durable.
func (r *records) freeBefore(offset int64) {
	n := 0
	for n < len(r.list) && r.list[n].End.Offset <= offset {
		r.list[n].log.Free(r.list[n].Record)
		r.count(&r.list[n], -1)
		n++
	}
	r.list = slices.Delete(r.list, 0, n)
}

// merge makes one record of those at index at-1 and at, if the second continues
// the first and nothing but kept lines is left of them. It returns how much memory
// that gave back, or 0 if it was not done.
func (r *records) merge(at int) (freed int64, err error) {
	if at < 1 || at >= len(r.list) {
		return 0, nil
	}
	a, b := r.list[at-1], r.list[at]
	if a.log != b.log || !a.Merges(b.Record) {
		return 0, nil
	}
	sum, err := a.log.Merge(a.Record, b.Record)
	if err != nil {
		return 0, err
	}
	r.list[at-1] = spooled{Record: sum, log: a.log, full: true}
	r.list = slices.Delete(r.list, at, at+1)
	return max(1, a.Memory()+b.Memory()-sum.Memory()), nil
}

// pages returns the whole pages that the record stands for, from which offset on
// and up to which. The page with the last byte stays, since the bytes in it
// distinguish the position behind the record from that of a rewritten file.
func (r spooled) pages() (from, to int64) {
	from, to = position.PageAfter(r.From), position.PageBefore(r.End.Offset)
	return from, max(from, to)
}

// intact reports whether the record is still one of what is in the file: the
// bytes before its end are those that were moved, and nobody has written again
// what was given back. Two logs may well have the same bytes at the same place.
func (f *File) intact(r *spooled) bool {
	if !f.held() {
		return true // nothing but records is left of the content
	}
	if !f.holds(r.End) {
		return false
	}
	from, to := r.pages()
	if r.full || from == to {
		return true
	}
	data, err := f.nextData(from)
	if err != nil || data >= to {
		return err == nil
	}
	return zeroAt(f.fd, data)
}

// untilRecord returns n, or less if a record begins before the n-th byte to
// read.
func (f *File) untilRecord(n int) int {
	if r := f.records.next(f.read.Offset); r != nil {
		return int(min(int64(n), r.From-f.read.Offset))
	}
	return n
}

// endsAtRecord reports whether a record begins behind the next n bytes.
func (f *File) endsAtRecord(n int) bool {
	r := f.records.next(f.read.Offset)
	return r != nil && r.From == f.read.Offset+int64(n)
}

// passRecords hands on what stands in the place of the record at the read
// position, together with the records behind it that have no lines left. A record
// is always handed on as a whole, so that no position lies inside one.
//
// The lines behind a marker go into the same chunk, if there are any yet: when a
// checkpoint is lost, [Source.Align] can only look up what is persisted behind
// the last marker.
func (s *Source) passRecords(f *File, area []byte) (int, Chunk, error) {
	if n, c, err := s.passFrame(f, area); n > 0 || err != nil {
		return n, c, err
	}
	o := spool.Reading{Data: area[:0], Open: f.read.Open, Level: f.openLevel}
	end := f.read
	for r := f.records.next(end.Offset); r != nil && r.From == end.Offset; r = f.records.next(end.Offset) {
		if !r.Empty() && len(o.Data) > 0 {
			break
		}
		if err := r.log.Read(&o, r.Record); err != nil {
			if err := s.lose(f, r, err); err != nil {
				return 0, Chunk{}, err
			}
			continue
		}
		end = r.End
		if len(o.Data) > 0 {
			break
		}
	}
	o.Mark()
	if err := f.jumpTo(end); err != nil {
		return 0, Chunk{}, err
	}
	f.read.Open = o.Open // a line is open only if its beginning was handed on
	f.stream.class.Resume(end.Level)
	f.counted = max(f.counted, end.Offset)
	if len(o.Data) == 0 {
		return 0, Chunk{}, nil // no more than a piece of a line that has its marker already
	}
	if o.Torn > 0 {
		var lines [ul.NumLevels]uint64
		lines[o.Level] = uint64(o.Torn)
		s.metrics.dropped.add(f.stream.label, ul.DropAll, lines, 0)
	}
	c := s.chunk(f, o.Lines, 0, 0, false)
	c.Made = o.Made
	return s.addLines(f, area, len(o.Data), c)
}

// passFrame hands on the frame of the record at the read position as it is, if it
// has one and the stream has no line to be ended in front of it.
func (s *Source) passFrame(f *File, area []byte) (int, Chunk, error) {
	r := f.records.next(f.read.Offset)
	line, open := s.open.handedOn[f.stream.name]
	if !s.cfg.Frames || r == nil || open && (!f.read.Open || line.of != f.of) {
		return 0, Chunk{}, nil
	}
	frame, raw, err := r.log.Frame(r.Record)
	if err != nil || len(frame) == 0 || len(frame) > len(area) {
		return 0, Chunk{}, nil // an error comes again
	}
	var lines [ul.NumLevels]uint32
	for _, p := range []spool.Part{spool.Kept, spool.Rest} {
		counts, _ := r.Lines(p)
		for level, n := range counts {
			lines[level] += n
		}
	}
	end := r.End
	if err := f.jumpTo(end); err != nil {
		return 0, Chunk{}, err
	}
	f.stream.class.Resume(end.Level)
	f.counted = max(f.counted, end.Offset)
	c := s.chunk(f, lines, 0, 0, false)
	c.Frame = raw
	return copy(area, frame), c, nil
}

// addLines adds to c, a chunk of n bytes in area, the lines behind it, if it has
// none and there is room.
func (s *Source) addLines(f *File, area []byte, n int, c Chunk) (int, Chunk, error) {
	rest := area[n:]
	next := f.records.next(f.read.Offset)
	if n > c.Made || !f.held() || len(rest) < s.cfg.LineLimit+ul.MaxMarkerBytes+2 || next != nil && next.From == f.read.Offset {
		return n, c, nil
	}
	more, behind, err := s.nextLines(f, rest)
	if more == 0 || err != nil {
		return n, c, nil // an error comes again
	}
	behind.Made += c.Made
	for level, lines := range c.Lines {
		behind.Lines[level] += lines
	}
	return n + more, behind, nil
}

// lose counts the lines of a record as dropped that somebody has changed in the
// spool.
func (s *Source) lose(f *File, r *spooled, why error) error {
	s.metrics.readErrors.Inc()
	s.log.once("spool", "reading the spool failed", "stream", f.stream.name, "error", why,
		"hint", "the lines are counted as dropped")
	_, err := s.dropParts(f, r, ul.DropAll)
	return err
}

// jumpTo moves the read position to p, over bytes that were not read.
func (f *File) jumpTo(p position.Position) error {
	if f.held() {
		n, err := unix.Pread(f.fd, f.seen[:p.CheckLen], p.Offset-int64(p.CheckLen))
		if err != nil {
			return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, f.name, err)
		}
		if n != p.CheckLen || position.Checksum(f.seen[:n]) != p.Check {
			return errRewritten
		}
		f.seenLen = n
	}
	f.read, f.openLevel = p, p.Level
	f.ended, f.relevel = false, false
	return nil
}
