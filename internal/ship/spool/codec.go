package spool

import (
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const (
	// encodeWindow is how far back a match may lie. As in segments, a larger
	// window does not compress UL lines better.
	encodeWindow = 256 << 10

	// maxStored is the size of the longest frame: incompressible bytes, 3 bytes
	// of overhead for each block, and the frame's header and checksum.
	maxStored = BlockBytes + BlockBytes/(64<<10)*3 + 64
)

// codec compresses and decompresses parts.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	lines   []byte // of one part, joined, to be compressed; or of both, decompressed
	frame   []byte
}

func newCodec() (*codec, error) {
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
		zstd.WithDecoderMaxMemory(BlockBytes))
	if err != nil {
		return nil, fmt.Errorf("make a decoder: %w", err)
	}
	return &codec{encoder: encoder, decoder: decoder}, nil
}

func (l *Log) codecs() (*codec, error) {
	if l.codec == nil {
		c, err := newCodec()
		if err != nil {
			return nil, err
		}
		l.codec = c
	}
	return l.codec, nil
}

// Rest frees the memory that compressing and reading records takes, some MiB. The next
// record takes it again.
func (l *Log) Rest() {
	if l.codec != nil {
		l.codec.decoder.Close()
	}
	l.codec, l.head, l.runs = nil, nil, nil
}

// Resting reports whether the log takes no such memory.
func (l *Log) Resting() bool { return l.codec == nil && l.head == nil && l.runs == nil }

// compress returns the frame of a part. It is valid until the next call.
func (l *Log) compress(b *Block, which Part) ([]byte, error) {
	c, err := l.codecs()
	if err != nil {
		return nil, err
	}
	lines := b.data
	if int(b.parts[which].raw) != len(b.data) {
		c.lines = b.split(slices.Grow(c.lines[:0], int(b.parts[which].raw)), which)
		lines = c.lines
	}
	c.frame = c.encoder.EncodeAll(lines, c.frame[:0])
	return c.frame, nil
}

var errPayload = errors.New("cannot read the lines of a spool record: another process changed them")
