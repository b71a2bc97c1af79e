package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// ErrMark says that the mark does not belong to the segments in the destination.
// Nothing was changed. The caller recovers the stream.
var ErrMark = errors.New("segments do not match the mark")

// maxNewer bounds how many segments Resume deletes: between two commits, a writer
// creates at most one.
const maxNewer = 1

// Unbounded is the maxCut of Resume for the last mark of this process, because this process has
// itself appended all bytes past the mark.
const Unbounded = math.MaxInt64

// Resume places the stream right after m, a mark that was committed. It deletes the
// newer segments, the newest first, and then truncates the segment of m to the offset
// of m; both are durable when it returns. The checkpoint has m, so the source still
// holds every byte that Resume removes, and the caller reads those bytes again. A
// crash in between leaves a longer prefix of what was appended, and Resume can run
// again. The zero mark is before the first segment: Resume deletes all segments. If m
// is Gone, the segments with a lower number stay as they are.
//
// The error wraps [ErrMark] if
//
//   - Resume would have to remove more than maxCut bytes on disk, more segments than a writer
//     creates between two commits, or a segment that is not newer than an earlier mark; or
//   - the segment of m is shorter than the offset of m, or is missing while m is not Gone.
//
// An error that wraps [ErrRefused] concerns only this stream. Any other error, such as [ErrAway],
// is the destination's: the caller then abandons the stream, waits, calls [Store.Reopen], and
// resumes again.
func (t *Stream) Resume(m segment.Mark, maxCut int64) error {
	if err := t.resume(m, maxCut); err != nil {
		return fmt.Errorf("resume stream %s: %w", t.name, t.dest.judge(err))
	}
	return nil
}

func (t *Stream) resume(m segment.Mark, maxCut int64) error {
	if err := segment.ValidStream(t.name); err != nil {
		return err
	}
	// Maintain may have sealed the segment by age after the caller took its mark.
	if unsealed := (segment.Mark{Segment: t.mark.Segment, Offset: t.mark.Offset}); m == unsealed {
		m = t.mark
	}
	t.Abandon()
	found, err := t.list(maxNewer + 2) // including the mark's own segment, and one more to detect too many
	if err != nil {
		return err
	}
	if m.Seq() > t.top.Seq() {
		t.top = m
	}
	at, cut, err := findMark(found, m, t.top.Seq(), maxCut)
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
		t.log.Debug("cut uncommitted data", "stream", t.name, "segment", m.Segment,
			"offset", m.Offset, "cut_bytes", cut, "segments_deleted", len(found)-at-1)
	}
	var seg segment.Info
	if at >= 0 {
		t.ledger.remove(found[at])
		seg = cutTo(found[at], offset)
		m.Sealed = m.Sealed || t.cfg.mustSeal(seg, t.sealAt)
	}
	if m.Gone {
		m = gone(m)
		m.Gone = seg.Name != m.Segment
	}
	t.place(seg, m, lastSeq(found))
	return nil
}

// findMark returns the index of the mark's segment and the number of bytes past the mark. If the
// segment is missing and the mark is Gone, the index is that of the last segment before it, or -1.
// It is -1 for the zero mark. top is the number of the last segment that was ever committed.
func findMark(found []segment.Info, m segment.Mark, top uint64, maxCut int64) (at int, cut int64, err error) {
	at = -1
	switch {
	case m == segment.Mark{}:
	case m.Offset < 0:
		return 0, 0, fmt.Errorf("offset %d is negative: %w", m.Offset, ErrMark)
	default:
		at = slices.IndexFunc(found, func(info segment.Info) bool { return info.Name == m.Segment })
		if at < 0 && m.Gone && m.Seq() > 0 {
			at = lastUpTo(found, m.Seq())
			break
		}
		if at < 0 {
			return 0, 0, fmt.Errorf("segment %q is missing: %w", m.Segment, ErrMark)
		}
		cut = found[at].Size - m.Offset
		if cut < 0 {
			return 0, 0, fmt.Errorf("segment %s has %d bytes, but its mark is at byte %d: %w", m.Segment, found[at].Size, m.Offset, ErrMark)
		}
	}
	if newer := len(found) - at - 1; newer > maxNewer {
		return 0, 0, fmt.Errorf("%d segments are after the mark, at most %d can be uncommitted: %w", newer, maxNewer, ErrMark)
	}
	for _, info := range found[at+1:] {
		if info.Seq <= top {
			return 0, 0, fmt.Errorf("segment %s is after the mark, but was committed: %w", info.Name, ErrMark)
		}
		cut += info.Size
	}
	if cut > maxCut {
		return 0, 0, fmt.Errorf("%d bytes are after the mark, at most %d can be uncommitted: %w", cut, maxCut, ErrMark)
	}
	return at, cut, nil
}

// cutBehind removes everything after an offset in found[at]. It deletes the later segments,
// the newest first, and syncs their directory before it truncates found[at]. In the
// other order, a crash could leave a hole between found[at] and a newer segment.
func (t *Stream) cutBehind(found []segment.Info, at int, offset int64) error {
	for i := len(found) - 1; i > at; i-- {
		if err := t.dest.removeSegment(found[i]); err != nil {
			return err
		}
		t.ledger.remove(found[i])
	}
	if len(found) > at+1 {
		if err := t.dest.syncDir(t.name); err != nil {
			return err
		}
	}
	if at < 0 || found[at].Size == offset {
		return nil
	}
	return t.dest.cutSegment(found[at], offset)
}

// cutTo describes a segment after it was cut to a size.
func cutTo(seg segment.Info, size int64) segment.Info {
	if size < seg.Size {
		seg.Size, seg.Disk = size, min(seg.Disk, wholePages(size))
	}
	return seg
}

// mustSeal reports whether nothing may be appended to a segment any more.
func (c Config) mustSeal(seg segment.Info, sealAt int64) bool {
	return seg.Compress != c.Compress ||
		seg.Size >= sealAt ||
		c.SegmentAge > 0 && time.Since(seg.Start) >= c.SegmentAge
}

// place makes the stream append at m in seg, which is the newest segment, or zero if there is
// no segment.
func (t *Stream) place(seg segment.Info, m segment.Mark, last uint64) {
	t.seg, t.mark, t.placed = seg, m, true
	t.last = max(t.last, last, m.Seq())
	// The clock may have been ahead at the last write. Then the age of the segment is measured from now.
	if now := time.Now(); t.seg.ModTime.After(now) {
		t.seg.ModTime = now
	}
	// A mark is made only after both directories were synced.
	t.rooted = seg.Name != ""
}

// gone returns m for a segment that was deleted.
func gone(m segment.Mark) segment.Mark {
	m.Sealed, m.Gone = true, true
	return m
}

// lastUpTo returns the index of the last segment with a number up to seq, or -1.
func lastUpTo(found []segment.Info, seq uint64) int {
	for i := len(found) - 1; i >= 0; i-- {
		if found[i].Seq <= seq {
			return i
		}
	}
	return -1
}

func lastSeq(found []segment.Info) uint64 {
	if len(found) == 0 {
		return 0
	}
	return found[len(found)-1].Seq
}
