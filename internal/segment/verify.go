package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// recoverFrame bounds one frame when a stream is recovered, on disk and
	// decoded. No version ever wrote more than FrameBytes into one frame.
	recoverFrame = FrameBytes + 64<<10

	blockBytes = 64 << 10 // for reading a segment backwards
)

// verifier finds the sound part of segments. All recoveries share its buffers.
type verifier struct {
	dest   *destination
	reader *Reader // nil: released
}

// release frees the buffers until the next verify.
func (v *verifier) release() { v.reader = nil }

// verify returns how many bytes of a segment are sound, their last raw bytes, and
// what is wrong with the bytes behind them. The error is one of reading.
func (v *verifier) verify(seg Info) (sound int64, tail []byte, why, err error) {
	file, err := v.dest.openSegment(seg, unix.O_RDONLY)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("verify segment: %w", err)
	}
	defer file.Close()
	if seg.Compress == None {
		sound, tail, err = verifyLines(file, seg.Size)
		return sound, tail, errors.New("no newline at the end"), err
	}
	if v.reader == nil {
		v.reader = &Reader{limit: recoverFrame}
	}
	r := v.reader
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

// verifyLines is verify for a segment without frames. It reads backwards.
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

// tailBefore fills tail up from the segments before the newest one. They were synced
// before the newest was created, so bytes that cannot be decoded are no torn end.
// They are older damage, and the tail begins behind them.
func (v *verifier) tailBefore(segs []Info, tail []byte) ([]byte, error) {
	for i := len(segs) - 1; i >= 0 && len(tail) < TailBytes; i-- {
		sound, before, _, err := v.verify(segs[i])
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
