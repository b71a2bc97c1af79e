// Package frame is the common part of the two logs on the tmpfs, the spool and the hindsight.
// Lines become frames that fit into a segment. A frame is trusted if this process is known to
// have written it; any other frame must be decompressed first. The application can write to
// these logs as well as to its own.
package frame

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

// encodeWindow is how far back a match may be. It is not larger than the window of the segments,
// so a frame can be copied into a segment unchanged. A larger window does not compress UL lines
// better.
const encodeWindow = 256 << 10

// Codec compresses lines, and decompresses frames with at most [segment.FrameBytes] of lines.
// The zero value allocates its memory, a few MiB, when it is first used.
type Codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	frame   []byte
}

// Rest frees the memory. The next use allocates it again.
func (c *Codec) Rest() {
	if c.decoder != nil {
		c.decoder.Close()
	}
	*c = Codec{}
}

// Resting reports whether the codec has no memory allocated.
func (c *Codec) Resting() bool { return c.encoder == nil && c.decoder == nil }

// Compress returns the frame of lines. It is valid until the next call.
func (c *Codec) Compress(lines []byte) (frame []byte, err error) {
	if c.encoder == nil {
		c.encoder, err = zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(1), // no goroutines
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(encodeWindow),
			zstd.WithEncoderCRC(true))
		if err != nil {
			return nil, fmt.Errorf("make an encoder: %w", err)
		}
	}
	c.frame = c.encoder.EncodeAll(lines, c.frame[:0])
	return c.frame, nil
}

var errChanged = errors.New("not the frame that was written")

// Decompress appends the lines of a frame to dst. It returns an error unless check is the frame's
// checksum and raw is the length of the lines in bytes.
func (c *Codec) Decompress(dst, frame []byte, check, raw uint32) (_ []byte, err error) {
	if position.Checksum(frame) != check {
		return nil, errChanged
	}
	if c.decoder == nil {
		c.decoder, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(segment.FrameBytes))
		if err != nil {
			return nil, fmt.Errorf("make a decoder: %w", err)
		}
	}
	// The bound on memory also holds for a forged frame. It covers the whole destination
	// slice, so the slice must not contain the earlier content of dst.
	dst = slices.Grow(dst, int(raw))
	lines, err := c.decoder.DecodeAll(frame, dst[len(dst):])
	if err != nil || len(lines) != int(raw) {
		return nil, errChanged
	}
	return append(dst, lines...), nil // the decoder has written the lines there
}

// Punch frees the whole pages between two offsets of a log. It also frees the page that holds the
// first offset, even if the page has earlier bytes: logs are punched from their beginning. Punch
// fails only on a file system that cannot punch holes; the memory then stays in use.
func Punch(log *os.File, from, to int64) {
	from, to = from&^(position.PageSize-1), to&^(position.PageSize-1)
	if to > from {
		_ = unix.Fallocate(int(log.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	}
}
