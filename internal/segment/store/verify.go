package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

const (
	// TailBytes is the most raw bytes that Recover returns from the end of a stream.
	TailBytes = 4 << 10

	// recoverFrame bounds one frame when a stream is recovered, on disk and
	// decoded. No version ever wrote more than FrameBytes into one frame.
	recoverFrame = segment.FrameBytes + 64<<10

	blockBytes = 64 << 10 // for reading a segment backwards
)

// verifier finds the sound part of segments. All recoveries share its buffers.
type verifier struct {
	dest   *destination
	reader *segment.Reader // nil: released
}

// release frees the buffers until the next verify.
func (v *verifier) release() { v.reader = nil }

// verify returns how many bytes of a segment are sound, their last raw bytes, and
// why the bytes after them are not sound. The error is a read error.
func (v *verifier) verify(seg segment.Info) (sound int64, tail []byte, why, err error) {
	file, err := v.dest.openSegment(seg, unix.O_RDONLY)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("verify segment: %w", err)
	}
	defer file.Close()
	if seg.Compress == segment.None {
		sound, tail, err = verifyLines(file, seg.Size)
		return sound, tail, errors.New("no newline at the end"), err
	}
	if v.reader == nil {
		v.reader = segment.NewReader(recoverFrame)
	}
	r := v.reader
	r.Reset(file, seg.Compress)
	for {
		raw, err := r.Next()
		var torn *segment.TornError
		var bad *segment.CorruptionError
		switch {
		case err == nil:
			tail = segment.AppendTail(tail, raw, TailBytes)
		case err == io.EOF:
			return r.Offset(), tail, nil, nil
		case errors.As(err, &torn), errors.As(err, &bad):
			return r.Offset(), tail, err, nil
		default:
			return 0, nil, nil, err
		}
	}
}

// longLine distinguishes two kinds of unterminated text. A part of an over-limit line, appended
// without the line's end, is longer; what a crash leaves of any other line is shorter.
const longLine = 32 << 10

// verifyLines does the work of verify for a segment without frames. It reads backwards. The
// bytes after the last newline are half a line that a crash has torn, unless they are part of a
// line over the limit: such a line is appended and committed in parts.
func verifyLines(file *os.File, size int64) (sound int64, tail []byte, err error) {
	buf := make([]byte, blockBytes)
	end, err := lastByte(file, size, buf, func(b byte) bool { return b != 0 })
	if err != nil {
		return 0, nil, err
	}
	sound = end
	part := buf[:min(end, longLine)]
	if err := readFull(file, part, end-int64(len(part))); err != nil {
		return 0, nil, err
	}
	if len(part) < longLine || bytes.ContainsAny(part, "\n\x00") {
		if sound, err = lastByte(file, end, buf, func(b byte) bool { return b == '\n' }); err != nil {
			return 0, nil, err
		}
	}
	tail = make([]byte, min(sound, TailBytes))
	return sound, tail, readFull(file, tail, sound-int64(len(tail)))
}

// lastByte returns the offset after the last byte before end for which is returns true, or 0.
func lastByte(file *os.File, end int64, buf []byte, is func(b byte) bool) (int64, error) {
	for end > 0 {
		block := buf[:min(end, blockBytes)]
		end -= int64(len(block))
		if err := readFull(file, block, end); err != nil {
			return 0, err
		}
		for i := len(block); i > 0; i-- {
			if is(block[i-1]) {
				return end + int64(i), nil
			}
		}
	}
	return 0, nil
}

func readFull(file *os.File, p []byte, at int64) error {
	if n, err := file.ReadAt(p, at); n < len(p) {
		return fmt.Errorf("read segment: %w", err)
	}
	return nil
}

// tailBefore prepends to tail the last bytes of the segments before the newest one. These
// segments were synced before the newest was created, so undecodable bytes in them are not a
// torn end. They are older damage, and the tail begins after them.
func (v *verifier) tailBefore(segs []segment.Info, tail []byte) ([]byte, error) {
	for i := len(segs) - 1; i >= 0 && len(tail) < TailBytes; i-- {
		sound, before, _, err := v.verify(segs[i])
		if err != nil {
			return nil, err
		}
		if sound != segs[i].Size {
			break
		}
		tail = segment.AppendTail(before, tail, TailBytes)
	}
	return tail, nil
}
