package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/segment"
)

// encodeWindow is how far back a match may be. It is as large as a full frame of the sidecar;
// only a single chunk, such as a very long line, makes a larger frame. The encoder's default level
// finds longer matches in UL than its fastest level. With this window, its output is a sixth
// smaller than that of the fastest level with half the window, for no more CPU time. The encoder
// takes about 2 MiB.
const encodeWindow = 512 << 10

// encoder encodes frames. Its buffers serve all streams and are allocated for the first frame.
// buf grows with the largest frame: lines of UL compress to a seventeenth of their size.
type encoder struct {
	how  segment.Compression
	buf  []byte
	zstd *zstd.Encoder
}

func newEncoder(how segment.Compression) (*encoder, error) {
	e := &encoder{how: how}
	switch how {
	case segment.None:
		return e, nil
	case segment.Zstd:
	default:
		return nil, fmt.Errorf("make an encoder: ullage reads %s but does not write it", how)
	}
	var err error
	e.zstd, err = zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1), // no goroutines
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(encodeWindow),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("make an encoder: %w", err)
	}
	return e, nil
}

// encode returns the frame for raw. The frame is valid until the next call.
func (e *encoder) encode(raw []byte) []byte {
	if e.how == segment.None {
		return raw
	}
	e.buf = e.zstd.EncodeAll(raw, e.buf[:0])
	return e.buf
}
