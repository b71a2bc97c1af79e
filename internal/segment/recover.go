package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// TailBytes is the most that Recover returns of what was persisted last.
	TailBytes = 4 << 10

	// recoverFrame bounds one frame when a stream is recovered, on disk and
	// decoded. No version ever wrote more than FrameBytes into one.
	recoverFrame = FrameBytes + 64<<10

	blockBytes = 64 << 10 // for reading a segment backwards
	lookBack   = 64       // segments that may be needed for one tail
)

// Recover places a stream that has no mark. It decodes the newest
// segment, keeps what is sound up to the first unsound byte and cuts the rest:
// half a frame, zeros, garbage. A segment with nothing sound in it is deleted
// and the one before has its turn. What is kept is durable when it returns,
// and sealed: new bytes go into a new segment, and [Stream.Mark] is the end of
// what was kept, or zero. It never stands before a mark that Resume was given:
// then it is that one, as one whose segment is gone.
//
// It returns the last raw bytes of the stream, up to [TailBytes], from as many
// segments as that takes, and how many bytes on disk it cut. Where there is no
// compression there are no frames: then NULs at the end are cut, and what
// remains behind the last newline.
//
// An error that wraps [ErrRefused] is of this stream, every other one of the
// destination: abandon, wait, and recover again.
func (t *Stream) Recover() (tail []byte, cut int64, err error) {
	if tail, cut, err = t.recover(); err != nil {
		t.store.noteFull(err)
		return nil, cut, fmt.Errorf("recover stream %s: %w", t.name, t.store.blame(err))
	}
	return tail, cut, nil
}

func (t *Stream) recover() (tail []byte, cut int64, err error) {
	if err := ValidStream(t.name); err != nil {
		return nil, 0, err
	}
	t.Abandon()
	for {
		found, err := t.list(lookBack)
		if err != nil {
			return nil, cut, err
		}
		if len(found) == 0 {
			t.place(Info{}, t.notBefore(Mark{}, 0), t.last)
			return nil, cut, nil
		}
		t.last = max(t.last, lastSeq(found))
		seg := found[len(found)-1]
		sound, last, why, err := t.store.verify(seg)
		if err != nil {
			return nil, cut, err
		}
		if err := t.keep(seg, sound, why); err != nil {
			return nil, cut, err
		}
		cut += seg.Size - sound
		t.store.ledger.remove(seg)
		if sound == 0 {
			continue
		}
		if tail, err = t.store.tailBefore(found[:len(found)-1], last); err != nil {
			return nil, cut, err
		}
		seg.cut(sound)
		t.place(seg, t.notBefore(Mark{Segment: seg.Name, Offset: sound, Sealed: true}, seg.Seq), t.last)
		return tail, cut, nil
	}
}

// list returns the last n segments of the stream, none if it has no directory,
// and ErrAway if the destination is not there. A directory that takes no new
// segment is an error now, and not when the first one is due.
func (t *Stream) list(n int) ([]Info, error) {
	if err := t.store.present(); err != nil {
		return nil, err
	}
	dir, err := t.store.openDir(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	defer dir.Close()
	if err := writable(dir); errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	found, err := newest(dir, n)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	return found, nil
}

// notBefore returns m, a mark in the segment with that number, or what was
// committed before if that stands higher.
func (t *Stream) notBefore(m Mark, seq uint64) Mark {
	if t.top.seq() <= seq {
		return m
	}
	return t.top.gone()
}

// keep cuts a segment to its sound part, or deletes it if there is none, and
// makes the result durable: a process that was killed may not have synced it.
func (t *Stream) keep(seg Info, sound int64, why error) error {
	if cut := seg.Size - sound; cut > 0 {
		t.store.metrics.cut.Add(float64(cut))
		t.store.log.Warn("cutting the damaged end of a segment", "stream", t.name, "segment", seg.Name,
			"kept_bytes", sound, "cut_bytes", cut, "reason", why)
	}
	var err error
	if sound == 0 {
		err = t.store.removeSegment(seg)
	} else {
		err = t.store.cutSegment(seg, sound)
	}
	if err != nil {
		return err
	}
	if err := t.store.syncDir(t.name); err != nil {
		return err
	}
	return t.store.syncDir(".")
}

// verify returns how many bytes of a segment are sound, the last raw bytes of
// them, and what is wrong with the rest. The error is one of reading.
func (s *Store) verify(seg Info) (sound int64, tail []byte, why, err error) {
	file, err := s.openSegment(seg, unix.O_RDONLY)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("verify segment: %w", err)
	}
	defer file.Close()
	if seg.Compress == None {
		sound, tail, err = verifyLines(file, seg.Size)
		return sound, tail, errors.New("no newline at the end"), err
	}
	if s.reader == nil {
		s.reader = &Reader{limit: recoverFrame}
	}
	r := s.reader
	r.reset(file, seg.Path, seg.Compress)
	defer r.reset(nil, "", None)
	for {
		raw, err := r.Next()
		var torn *TornError
		var bad *CorruptionError
		switch {
		case err == nil:
			tail = appendTail(tail, raw, TailBytes)
		case err == io.EOF:
			return r.Offset(), tail, nil, nil
		case errors.As(err, &torn), errors.As(err, &bad):
			return r.Offset(), tail, err, nil
		default:
			return 0, nil, nil, err
		}
	}
}

// appendTail keeps the last n bytes of tail and raw.
func appendTail(tail, raw []byte, n int) []byte {
	if len(raw) >= n {
		return append(tail[:0], raw[len(raw)-n:]...)
	}
	if over := len(tail) + len(raw) - n; over > 0 {
		tail = tail[:copy(tail, tail[over:])]
	}
	return append(tail, raw...)
}

// verifyLines is verify for bytes without frames. It reads backwards.
func verifyLines(file *os.File, size int64) (sound int64, tail []byte, err error) {
	buf := make([]byte, blockBytes)
	nuls := true
	for end := size; end > 0 && sound == 0; {
		block := buf[:min(end, blockBytes)]
		begin := end - int64(len(block))
		if err := readFull(file, block, begin); err != nil {
			return 0, nil, err
		}
		if nuls {
			block = bytes.TrimRight(block, "\x00")
			nuls = len(block) == 0
		}
		sound = begin + int64(bytes.LastIndexByte(block, '\n')) + 1
		if sound == begin {
			sound = 0 // no newline in this block
		}
		end = begin
	}
	tail = make([]byte, min(sound, TailBytes))
	return sound, tail, readFull(file, tail, sound-int64(len(tail)))
}

func readFull(file *os.File, p []byte, at int64) error {
	if n, err := file.ReadAt(p, at); n < len(p) {
		return fmt.Errorf("read segment: %w", err)
	}
	return nil
}

// tailBefore fills tail up from the segments before. They were synced before
// the newest one was made, so what cannot be decoded is damage of long ago,
// which ends the tail.
func (s *Store) tailBefore(segs []Info, tail []byte) ([]byte, error) {
	for i := len(segs) - 1; i >= 0 && len(tail) < TailBytes; i-- {
		sound, before, _, err := s.verify(segs[i])
		if err != nil {
			return nil, err
		}
		if sound != segs[i].Size {
			break
		}
		tail = appendTail(before, tail, TailBytes)
	}
	return tail, nil
}
