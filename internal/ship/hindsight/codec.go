package hindsight

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

// encodeWindow is that of the segments, so that a frame can become one of theirs.
const encodeWindow = 256 << 10

// codec compresses and decompresses lines. Its buffers serve all records.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	frame   []byte
	lines   []byte
}

func (l *Log) codecs() (*codec, error) {
	if l.codec != nil {
		return l.codec, nil
	}
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1), // no goroutines
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(encodeWindow),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("make an encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(segment.FrameBytes))
	if err != nil {
		return nil, fmt.Errorf("make a decoder: %w", err)
	}
	l.codec = &codec{encoder: encoder, decoder: decoder}
	return l.codec, nil
}

// compress returns the frame of lines. It is valid until the next call.
func (c *codec) compress(lines []byte) []byte {
	c.frame = c.encoder.EncodeAll(lines, c.frame[:0])
	return c.frame
}

// decompress returns the lines of a record's frame. They are valid until the next call.
func (c *codec) decompress(frame []byte, h *head) ([]byte, error) {
	if position.Checksum(frame) != h.check {
		return nil, errRecord
	}
	// A forged frame must not become longer than its record says.
	c.lines = slices.Grow(c.lines[:0], int(h.raw))
	var err error
	if c.lines, err = c.decoder.DecodeAll(frame, c.lines); err != nil || len(c.lines) != int(h.raw) {
		return nil, errRecord
	}
	return c.lines, nil
}
