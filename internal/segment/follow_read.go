package segment

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// look lists the segments again, and finds out what happened to cur.
func (f *Follower) look() error {
	first := f.prev.seg
	if first.Name == "" {
		first = f.cur.seg
	}
	found, older, more, err := f.in.list(first)
	if errors.Is(err, fs.ErrNotExist) && f.reader != nil {
		err = nil // read the open segment to its end first
	}
	if err != nil {
		return &ReadError{Path: f.in.dir, Err: err}
	}
	if f.cur.seg.Name != "" && isOther(found, older, f.cur.seg, f.prev.seg) {
		f.forget()
		return nil // and look again, from the beginning
	}
	if f.committed != nil {
		found, more = upTo(f.committed, found, more)
	}
	f.found, f.more, f.looked = found, more, true
	if f.cur.seg.Name != "" {
		f.recognize(indexOf(found, f.cur.seg.Name))
	}
	return nil
}

// upTo leaves out uncommitted bytes.
func upTo(committed func() (Mark, bool), found []Info, more bool) ([]Info, bool) {
	mark, ok := committed()
	if !ok {
		return found, more
	}
	last, known := ParseName(mark.Segment)
	for i, seg := range found {
		switch {
		case !known || seg.Seq > last.Seq:
			return found[:i], false
		case seg.Name == mark.Segment:
			found[i].Size = min(seg.Size, mark.Offset)
		}
	}
	return found, more
}

// recognize finds out what happened to cur. at is the index of cur in found, or -1.
func (f *Follower) recognize(at int) {
	switch {
	case at < 0 && !f.cur.gone:
		// Retention deletes old segments, and a restart deletes uncommitted ones. An
		// open reader still reads the deleted file to its end.
		f.cur.gone, f.newest = true, false
		if f.reader == nil {
			f.lose()
		}
	case at >= 0 && f.cur.gone: // cur was moved away and back
		f.cur.gone, f.cur.done, f.again = false, false, repeat{}
	case at >= 0 && f.reader != nil:
		f.newest = f.isNewest(at)
		f.cur.seg = f.found[at]
		if f.committed != nil {
			f.reader.in.drop() // the buffer may hold uncommitted bytes that are no longer in the file
		}
		if f.cur.replaced(f.reader.file) {
			f.close()
			f.cur.seg.Size = -1 // so that enter opens the present file
		}
	}
}

// isOther reports whether the segments belong to a stream other than that of cur and prev:
// the stream was deleted, and a new stream of the same name numbers its segments from one.
func isOther(found []Info, older bool, cur, prev Info) bool {
	if indexOf(found, cur.Name) >= 0 || indexOf(found, prev.Name) >= 0 {
		return false
	}
	return older || len(found) > 0 && found[0].Seq <= cur.Seq
}

// replaced reports whether the path of the segment names a file other than the open one, or
// the open file was cut. A file that was cut may have grown again, to any size.
func (p *place) replaced(file *os.File) bool {
	is, err := os.Stat(p.seg.Path)
	if err != nil {
		return false
	}
	was, err := file.Stat()
	if err != nil {
		return false
	}
	holds, err := p.heldBy(file)
	return !os.SameFile(was, is) || err == nil && !holds
}

func (f *Follower) isNewest(at int) bool {
	return at == len(f.found)-1 && !f.more && !f.in.sealed
}

// enter opens cur if it may have grown, or else the segment that follows. If no segment
// follows, enter returns io.EOF.
func (f *Follower) enter() error {
	for i, seg := range f.found {
		order := compareInfo(seg, f.cur.seg)
		if order < 0 || order == 0 && f.cur.done {
			continue
		}
		if f.more && i == len(f.found)-1 {
			break // first list what follows it
		}
		f.newest = f.isNewest(i)
		if order > 0 {
			if !f.newest && i+1 < len(f.found) && f.since.skips(seg, f.found[i+1]) {
				f.passOver(seg)
				continue
			}
			if err := f.missed(seg); err != nil {
				return err
			}
			if (f.once || !f.newest) && f.since.pass != nil && f.since.pass(seg) {
				f.passOver(seg)
				continue
			}
			f.begin(seg)
		} else if f.unchanged(seg) {
			continue
		}
		f.cur.seg = seg
		return f.open()
	}
	f.looked = false
	if f.more {
		return nil
	}
	return io.EOF
}

// missed returns an error, once, if segments before seg were deleted unread. Numbers that are
// missing after a segment that still exists belonged to uncommitted segments, because retention
// deletes the oldest segments first.
func (f *Follower) missed(seg Info) error {
	numbers := uint64(0)
	if f.retired && seg.Seq > f.seen {
		numbers = seg.Seq - f.seen - 1
	}
	unread := f.retired && f.unread
	f.retired, f.unread = false, false
	if numbers == 0 && !unread {
		return nil
	}
	return &GoneError{Path: f.cur.seg.Path, Offset: f.cur.Offset, Size: f.cur.seg.Size, Numbers: numbers}
}

// unchanged reports whether cur has not changed since it was closed.
func (f *Follower) unchanged(seg Info) bool {
	was := f.cur.seg
	return !f.once && !f.sure && !f.stuck && !f.rewound && f.cur.Offset > 0 && seg.Size == was.Size && seg.ModTime.Equal(was.ModTime) && (f.newest || f.cur.Offset >= seg.Size)
}

// open opens cur at its place if the file still has the bytes before the place. Otherwise
// the segment was cut and has grown past the place again: then open goes back to the end of the
// last frame that the file still has, or to the beginning.
func (f *Follower) open() error {
	r, err := f.in.open(f.cur.seg)
	if errors.Is(err, fs.ErrNotExist) && f.in.files == nil {
		f.leave()
		return &GoneError{Path: f.cur.seg.Path, Offset: f.cur.Offset, Size: f.cur.seg.Size}
	}
	if err != nil {
		return f.fail(err)
	}
	holds, err := f.cur.heldBy(r.file)
	if err != nil {
		r.Close()
		return f.fail(err)
	}
	if !holds {
		read := f.cur.back(r.file)
		if f.committed == nil { // if committed is set, the place is from the cursor of a sink, not from a Follower
			f.again.cut.add(read.raw, read.head)
		}
	}
	if f.cur.Offset == 0 && !f.cur.jumpTo(r) {
		f.cur.from = 0
	}
	f.memory.lend(r)
	f.reader, r.off = r, f.cur.Offset
	return nil
}

// full reports whether everything that the last look found has been read. cur may have grown
// since then, but the caller may have other streams to read.
func (f *Follower) full() bool {
	return f.newest && !f.once && f.cur.Offset >= f.cur.seg.Size
}

// take moves past a frame and returns the part of it that Next has not returned before.
func (f *Follower) take(raw []byte) []byte {
	f.undo.save(&f.cur.Place, f.again)
	disk := f.reader.in.bytes()[:f.reader.last]
	f.cur.advance(f.reader.off, raw, disk)
	f.stuck, f.rewound = false, false
	if raw = f.again.strip(raw); len(raw) > 0 {
		f.sure = false
	}
	return raw
}

// stop handles an error of the reader.
func (f *Follower) stop(err error) error {
	var torn *TornError
	var bad *CorruptionError
	switch {
	case err == io.EOF:
		return f.rest()
	case errors.As(err, &torn):
		return f.tear(torn)
	case errors.As(err, &bad):
		return f.passDamage(bad.Err)
	}
	return f.fail(err)
}

// rest handles the current end of cur.
func (f *Follower) rest() error {
	f.cur.seg.Size = max(f.cur.seg.Size, f.cur.Offset)
	switch {
	case f.cur.gone:
		f.lose()
		return nil
	case !f.newest:
		f.leave()
		return nil
	case time.Since(f.cur.seg.ModTime) > followIdle:
		f.close()
	}
	f.looked = false
	return io.EOF
}

// tear handles a frame whose end is missing: a writer is writing the frame, or was
// killed before it had written all of it.
func (f *Follower) tear(torn *TornError) error {
	switch {
	case f.cur.gone, f.newest && !f.once:
		return f.rest()
	case !f.newest:
		return f.passDamage(errTorn)
	}
	// The length in the header of a damaged frame can reach past the end of the file, so look for
	// a sound frame after it. A frame past the earlier size proves nothing, because the file has
	// grown in the meantime.
	stat, err := f.reader.file.Stat()
	if err != nil {
		return f.fail(err)
	}
	from, to, err := f.reader.Resync()
	if err != nil {
		return f.fail(err)
	}
	if to < stat.Size() {
		_, _, err = f.reader.frame(to)
		var incomplete *TornError
		if !errors.As(err, &incomplete) {
			return f.damaged(from, to, errTorn)
		}
	}
	f.close()
	f.looked = false
	return torn
}

// passDamage skips damage once a fresh reader has found it too: a restart may have cut cur and
// written it again while it was being read.
func (f *Follower) passDamage(why error) error {
	if !f.sure && !f.cur.gone {
		f.close()
		f.sure, f.looked = true, false
		return nil
	}
	from, to, err := f.reader.Resync()
	if err != nil {
		return f.fail(err)
	}
	if to == from {
		return f.rest()
	}
	return f.damaged(from, to, why)
}

func (f *Follower) damaged(from, to int64, why error) error {
	if err := f.cur.jump(f.reader.file, to); err != nil {
		return f.fail(err)
	}
	if f.again.cut.raw > 0 {
		return nil // Next already returned this part before the restart
	}
	return &DamageError{Path: f.cur.seg.Path, From: from, To: to, Err: why}
}

// fail wraps an error that reading cur returned. The next call of Next lists the segments again.
func (f *Follower) fail(err error) error {
	f.stuck, f.looked = true, false
	return &ReadError{Path: f.cur.seg.Path, Offset: f.cur.Offset, Err: err}
}
