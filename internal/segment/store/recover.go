package store

import (
	"fmt"

	"github.com/ullage/ullage/internal/segment"
)

// lookBack is the largest number of segments that one tail may need.
const lookBack = 64

// Recover places a stream that has no mark. It decodes the newest segment, keeps the sound
// frames before the first damaged byte, and cuts the rest: half a frame, zeros, garbage. If the
// segment has no sound frame, Recover deletes the segment and decodes the previous one. When
// Recover returns, the kept frames are durable and sealed: new bytes go into a new segment.
// [Stream.Mark] is the end of these frames, or zero. If Resume received a mark in a later
// segment, [Stream.Mark] is that mark, as Gone, because its sequence number must not be used
// again.
//
// Recover returns the last raw bytes of the stream, up to [TailBytes], from as many segments as
// necessary, and how many bytes on disk it cut. Segments without compression have no frames:
// Recover cuts NULs at their end, and then the bytes after the last newline, unless there are
// so many that they must be part of a line over the limit.
//
// An error that wraps [ErrRefused] concerns only this stream. Any other error is the
// destination's: the caller then abandons the stream, waits, and recovers again.
func (t *Stream) Recover() (tail []byte, cut int64, err error) {
	if tail, cut, err = t.recover(); err != nil {
		return nil, cut, fmt.Errorf("recover stream %s: %w", t.name, t.dest.judge(err))
	}
	return tail, cut, nil
}

func (t *Stream) recover() (tail []byte, cut int64, err error) {
	if err := segment.ValidStream(t.name); err != nil {
		return nil, 0, err
	}
	t.Abandon()
	for {
		found, err := t.list(lookBack)
		if err != nil {
			return nil, cut, err
		}
		if len(found) == 0 {
			t.place(segment.Info{}, notBefore(t.top, segment.Mark{}, 0), t.last)
			return nil, cut, nil
		}
		t.last = max(t.last, lastSeq(found))
		seg := found[len(found)-1]
		sound, last, why, err := t.verifier.verify(seg)
		if err != nil {
			return nil, cut, err
		}
		if err := t.keep(seg, sound, why); err != nil {
			return nil, cut, err
		}
		cut += seg.Size - sound
		t.ledger.remove(seg)
		if sound == 0 {
			continue
		}
		if tail, err = t.verifier.tailBefore(found[:len(found)-1], last); err != nil {
			return nil, cut, err
		}
		seg = cutTo(seg, sound)
		t.place(seg, notBefore(t.top, segment.Mark{Segment: seg.Name, Offset: sound, Sealed: true}, seg.Seq), t.last)
		return tail, cut, nil
	}
}

// notBefore returns m, a mark in segment number seq, unless top is in a later segment. top is
// the highest mark that Resume received; notBefore then returns top as Gone.
func notBefore(top, m segment.Mark, seq uint64) segment.Mark {
	if top.Seq() <= seq {
		return m
	}
	return gone(top)
}

// keep cuts a segment to its sound part, or deletes the segment if it has no sound part. It
// also syncs a segment that is entirely sound: a killed process may not have synced it, and a
// later crash of the node would then lose bytes that the checkpoint covers.
func (t *Stream) keep(seg segment.Info, sound int64, why error) error {
	if cut := seg.Size - sound; cut > 0 {
		t.metrics.cut.Add(float64(cut))
		// messages.md#the-destination: A crash without a checkpoint left half a frame, or another
		// process changed the segment. The part before the damage stays.
		t.log.Warn("cutting the damaged end of a segment", "stream", t.name, "segment", seg.Name,
			"kept_bytes", sound, "cut_bytes", cut, "reason", why)
	}
	var err error
	if sound == 0 {
		err = t.dest.removeSegment(seg)
	} else {
		err = t.dest.cutSegment(seg, sound)
	}
	if err != nil {
		return err
	}
	if err := t.dest.syncDir(t.name); err != nil {
		return err
	}
	return t.dest.syncDir(".")
}
