package segment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrMark says that the segments are not those that the mark was made of.
// Nothing was changed. What is left is Recover.
var ErrMark = errors.New("segments do not match the mark")

// maxNewer bounds how many segments Resume looks at: between two commits there
// is at most one new one.
const maxNewer = 1024

// Unbounded, as maxCut of Resume, is for a mark that the caller knows to be the
// last one: what is behind it was appended since, by this process.
const Unbounded = math.MaxInt64

// Resume places the stream right behind m, which was committed: newer segments
// are deleted and the segment of m is cut to its offset, durably. The zero
// mark stands before the first segment, so all of them go. If the segment of m
// is Gone, those with a lower number stay as they are.
//
// If more than maxCut bytes on disk would have to go in total, or a segment
// that is not newer than a mark of before, or the segment of m is shorter than
// m or missing without being Gone, the error wraps [ErrMark]. One that wraps
// [ErrRefused] is of this stream. Every other error is one of the destination,
// or [ErrAway]: abandon, wait, [Store.Reopen], and resume again.
func (t *Stream) Resume(m Mark, maxCut int64) error {
	if err := t.resume(m, maxCut); err != nil {
		t.store.noteFull(err)
		return fmt.Errorf("resume stream %s: %w", t.name, t.store.blame(err))
	}
	return nil
}

func (t *Stream) resume(m Mark, maxCut int64) error {
	if err := ValidStream(t.name); err != nil {
		return err
	}
	// A seal by age may be younger than the caller's mark.
	if unsealed := (Mark{Segment: t.mark.Segment, Offset: t.mark.Offset}); m == unsealed {
		m = t.mark
	}
	t.Abandon()
	found, err := t.list(maxNewer)
	if err != nil {
		return err
	}
	if m.seq() > t.top.seq() {
		t.top = m
	}
	at, cut, err := t.findMark(found, m, maxCut)
	if err != nil {
		return err
	}
	offset := m.Offset
	if at >= 0 && found[at].Name != m.Segment {
		offset = found[at].Size
	}
	if err := t.cutBehind(found, at, offset); err != nil {
		return err
	}
	if cut > 0 || len(found) > at+1 {
		t.store.log.Debug("cut uncommitted data", "stream", t.name, "segment", m.Segment,
			"offset", m.Offset, "cut_bytes", cut, "segments_deleted", len(found)-at-1)
	}
	var seg Info
	if at >= 0 {
		t.store.ledger.remove(found[at])
		seg = found[at]
		seg.cut(offset)
		m.Sealed = m.Sealed || t.mustSeal(seg)
	}
	if m.Gone {
		m = m.gone()
		m.Gone = seg.Name != m.Segment
	}
	t.place(seg, m, lastSeq(found))
	return nil
}

// findMark returns the index of the mark's segment, of the last one before it if
// that is Gone, or -1 if there is none, and how many bytes there are behind it.
func (t *Stream) findMark(found []Info, m Mark, maxCut int64) (at int, cut int64, err error) {
	at = -1
	switch {
	case m == Mark{}:
		if len(found) == maxNewer {
			return 0, 0, fmt.Errorf("over %d segments behind the zero mark: %w", maxNewer-1, ErrMark)
		}
	case m.Offset < 0:
		return 0, 0, fmt.Errorf("offset %d is negative: %w", m.Offset, ErrMark)
	default:
		at = slices.IndexFunc(found, func(info Info) bool { return info.Name == m.Segment })
		if at < 0 && m.Gone && m.seq() > 0 {
			at = lastUpTo(found, m.seq())
			break
		}
		if at < 0 {
			return 0, 0, fmt.Errorf("segment %q is missing: %w", m.Segment, ErrMark)
		}
		cut = found[at].Size - m.Offset
		if cut < 0 {
			return 0, 0, fmt.Errorf("segment %s has %d bytes, the mark says %d: %w", m.Segment, found[at].Size, m.Offset, ErrMark)
		}
	}
	top := t.top.seq()
	for _, info := range found[at+1:] {
		if info.Seq <= top {
			return 0, 0, fmt.Errorf("segment %s is behind the mark, but was committed: %w", info.Name, ErrMark)
		}
		cut += info.Size
	}
	if cut > maxCut {
		return 0, 0, fmt.Errorf("%d bytes are behind the mark, at most %d can be uncommitted: %w", cut, maxCut, ErrMark)
	}
	return at, cut, nil
}

// cutBehind removes what lies behind an offset in found[at], the newest first,
// so that a crash in between leaves no hole.
func (t *Stream) cutBehind(found []Info, at int, offset int64) error {
	for i := len(found) - 1; i > at; i-- {
		if err := t.store.removeSegment(found[i]); err != nil {
			return err
		}
		t.store.ledger.remove(found[i])
	}
	if len(found) > at+1 {
		if err := t.store.syncDir(t.name); err != nil {
			return err
		}
	}
	if at < 0 || found[at].Size == offset {
		return nil
	}
	return t.store.cutSegment(found[at], offset)
}

// mustSeal says that nothing may be appended to a segment any more.
func (t *Stream) mustSeal(seg Info) bool {
	cfg := t.store.cfg
	return seg.Compress != cfg.Compress ||
		seg.Size >= t.store.sealAt ||
		cfg.SegmentAge > 0 && time.Since(seg.Start) >= cfg.SegmentAge
}

// place lets the stream go on at m in seg, its newest segment if it has one.
func (t *Stream) place(seg Info, m Mark, last uint64) {
	t.seg, t.mark, t.placed = seg, m, true
	t.last = max(t.last, last, m.seq())
	// A clock that was ahead may have written it; from now on it gets older.
	if now := time.Now(); t.seg.ModTime.After(now) {
		t.seg.ModTime = now
	}
	// A mark is only ever made after both directories were synced.
	t.rooted = seg.Name != ""
}

// seq returns the number of the mark's segment, zero for the zero mark.
func (m Mark) seq() uint64 {
	info, _ := ParseName(m.Segment)
	return info.Seq
}

// gone returns m for the case that its segment is gone.
func (m Mark) gone() Mark {
	m.Sealed, m.Gone = true, true
	return m
}

// lastUpTo returns the index of the last segment with a number up to seq, or -1.
func lastUpTo(found []Info, seq uint64) int {
	for i := len(found) - 1; i >= 0; i-- {
		if found[i].Seq <= seq {
			return i
		}
	}
	return -1
}

func lastSeq(found []Info) uint64 {
	if len(found) == 0 {
		return 0
	}
	return found[len(found)-1].Seq
}
