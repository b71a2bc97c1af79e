package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

const (
	headBytes  = 256     // how many of the first raw bytes of a segment are remembered
	checkBytes = 64      // how many of the bytes on disk before a place are remembered
	mostEnds   = 32      // the most frames whose ends are remembered
	maxRaw     = 1 << 60 // so that the sum of a few such numbers never overflows
)

// Place is how far a segment was read. The zero value is before the oldest segment.
type Place struct {
	Segment string // its name; empty: no segment
	Offset  int64  // bytes on disk
	Raw     int64  // raw bytes that these decode to

	check []byte // the last of the bytes on disk, which distinguish this place from others
	head  []byte // the first of the raw bytes
	done  bool   // the segment was read to its end
}

// place is a Place in a segment that is known.
type place struct {
	Place
	seg  Info  // as of the last look
	from int64 // the offset where reading of the segment began
	gone bool  // the segment was deleted
	ends []frameEnd
}

// frameEnd is where one of the last frames of a segment ended.
type frameEnd struct {
	offset, raw int64
	check       []byte // the last of the bytes on disk before it
	next        []byte // the first of the raw bytes after it
}

func beginOf(seg Info) place { return place{Place: Place{Segment: seg.Name}, seg: seg} }

func placeIn(dir string, p Place) (place, error) {
	if p.Segment == "" {
		return place{}, nil
	}
	seg, ok := ParseName(p.Segment)
	if !ok {
		return place{}, fmt.Errorf("place in %q: not the name of a segment", p.Segment)
	}
	if p.Offset < 0 || p.Raw < 0 || p.Raw > maxRaw {
		return place{}, fmt.Errorf("byte %d of segment %s: out of range", p.Offset, p.Segment)
	}
	seg.Stream, seg.Path = filepath.Base(dir), filepath.Join(dir, seg.Name)
	return place{Place: p, seg: seg}, nil
}

// advance moves past a frame that ends at offset.
func (p *place) advance(offset int64, raw, disk []byte) {
	for n := len(p.ends); n > 0 && p.ends[n-1].offset > p.Offset; n-- {
		p.ends = p.ends[:n-1] // the frame is read again
	}
	for i := range p.ends {
		e := &p.ends[i]
		if n := checkBytes - len(e.next); n > 0 && e.raw+int64(len(e.next)) == p.Raw {
			e.next = append(e.next, raw[:min(n, len(raw))]...)
		}
	}
	p.Offset = offset
	p.Raw += int64(len(raw))
	p.check = AppendTail(p.check, disk, checkBytes)
	if n := headBytes - len(p.head); n > 0 {
		p.head = append(p.head, raw[:min(n, len(raw))]...)
	}
	if len(p.ends) == mostEnds {
		p.ends = slices.Delete(p.ends, 0, 1)
	}
	p.ends = append(p.ends, frameEnd{offset: offset, raw: p.Raw, check: slices.Clone(p.check)})
}

// back goes back to the newest end of a frame that the file still has, or else to the
// beginning. It returns the bytes that were read after that place.
func (p *place) back(file *os.File) repeated {
	for n := len(p.ends); n > 0; n-- {
		e := p.ends[n-1]
		to := place{Place: Place{Segment: p.Segment, Offset: e.offset, Raw: e.raw, check: slices.Clone(e.check)}, seg: p.seg, from: p.from}
		if holds, err := to.heldBy(file); err != nil || !holds {
			continue
		}
		read := repeated{p.Raw - e.raw, slices.Clone(e.next)}
		to.head, to.ends = p.head[:min(int64(len(p.head)), e.raw)], p.ends[:n]
		for i := range to.ends { // the bytes that were read after e are gone
			next := &to.ends[i].next
			*next = (*next)[:min(int64(len(*next)), e.raw-to.ends[i].raw)]
		}
		*p = to
		return read
	}
	read := repeated{p.Raw, p.head}
	*p = place{Place: Place{Segment: p.Segment}, seg: p.seg, from: p.from}
	return read
}

// AppendTail returns the last n bytes of tail followed by raw, in the memory of tail.
func AppendTail(tail, raw []byte, n int) []byte {
	if len(raw) >= n {
		return append(tail[:0], raw[len(raw)-n:]...)
	}
	if over := len(tail) + len(raw) - n; over > 0 {
		tail = tail[:copy(tail, tail[over:])]
	}
	return append(tail, raw...)
}

// jump moves to an offset that is not the end of a frame.
func (p *place) jump(file *os.File, offset int64) error {
	check := make([]byte, min(offset, checkBytes))
	if _, err := file.ReadAt(check, offset-int64(len(check))); err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	p.Offset, p.check = offset, check
	return nil
}

// heldBy reports whether the file has the bytes before the place. Frames end with a checksum,
// so a file that was cut and has grown past the place again has different bytes there, unless
// the same raw bytes precede them.
func (p *place) heldBy(file *os.File) (bool, error) {
	stat, err := file.Stat()
	if err != nil || stat.Size() < p.Offset {
		return false, err
	}
	is := make([]byte, len(p.check))
	if _, err := file.ReadAt(is, p.Offset-int64(len(is))); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(is, p.check), nil
}

// begin moves on to seg, which follows cur.
func (f *Follower) begin(seg Info) {
	f.close()
	f.prev, f.cur, f.sure = f.cur, beginOf(seg), false
	f.cur.from = f.since.in(seg)
	f.seen = max(f.seen, seg.Seq)
}

// passOver skips an unwanted segment. If a restart cuts the segment and appends to it
// again, Next returns its new content.
func (f *Follower) passOver(seg Info) {
	f.begin(seg)
	f.cur.Offset, f.cur.done = seg.Size, true
}

// leave marks cur as read to its end.
func (f *Follower) leave() {
	f.close()
	f.cur.done, f.sure, f.stuck = true, false, false
}

// lose handles the deletion of cur. If the segment before cur still exists, or if cur was the very first segment, a
// restart has deleted cur because it was not committed. The writer appends the same bytes again: to the previous
// segment, which may have been cut as well, or to a new one. No restart deletes committed bytes. Otherwise retention
// has deleted cur, and its bytes are not appended again.
func (f *Follower) lose() {
	before := f.committed == nil && indexOf(f.found, f.prev.seg.Name) >= 0
	f.retired = !before
	f.unread = f.reader == nil && !f.cur.done && f.cur.Offset != f.cur.seg.Size
	f.close()
	if before || f.cur.seg.Seq == 1 && f.in.files == nil && f.committed == nil {
		f.again.lose(f.cur.Raw, f.cur.head)
	} else {
		f.again = repeat{}
	}
	f.cur.Raw, f.cur.head, f.cur.done, f.cur.gone = 0, nil, true, true
	if before {
		f.cur, f.prev = f.prev, place{}
		f.cur.done = false
	}
}

// forget makes f begin again, as if it had never read the stream.
func (f *Follower) forget() {
	f.close()
	f.cur, f.prev, f.again = place{}, place{}, repeat{}
	f.seen, f.sure, f.stuck, f.rewound, f.retired, f.unread = 0, false, false, false, false, false
}

// undo has the state of a Follower before the last frame. It shares no memory with cur.
type undo struct {
	place Place
	again repeat
	valid bool
}

func (u *undo) save(p *Place, again repeat) {
	check, head := append(u.place.check[:0], p.check...), append(u.place.head[:0], p.head...)
	u.place, u.again, u.valid = *p, again, true
	u.place.check, u.place.head = check, head
}

func (f *Follower) close() { _ = f.Close() } // no error matters for a descriptor that was only read

// repeated is a number of raw bytes. head holds the first of them until they have been
// compared.
type repeated struct {
	raw  int64
	head []byte
}

// repeat describes the bytes that a writer appends again after a restart: first those cut
// from cur, then those read from the next segment.
type repeat struct{ cut, deleted repeated }

// strip returns raw without the bytes that Next has returned before.
func (r *repeat) strip(raw []byte) []byte {
	for _, b := range []*repeated{&r.cut, &r.deleted} {
		if b.raw == 0 || len(raw) == 0 {
			continue
		}
		if n := min(len(b.head), len(raw)); !bytes.Equal(b.head[:n], raw[:n]) {
			*r = repeat{} // the writer appended other bytes instead
			return raw
		}
		n := min(b.raw, int64(len(raw)))
		b.head = b.head[min(int(n), len(b.head)):] // this frame may be shorter than the head
		b.raw -= n
		raw = raw[n:]
	}
	return raw
}

// lose records how much was read of a deleted segment.
func (r *repeat) lose(raw int64, head []byte) {
	r.deleted.add(r.cut.raw, r.cut.head)
	r.deleted.add(raw, head)
	r.cut = repeated{}
}

// add puts bytes in front of the remaining bytes.
func (r *repeated) add(raw int64, head []byte) {
	if raw > 0 {
		r.raw, r.head = r.raw+raw, head
	}
}
