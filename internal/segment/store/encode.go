package store

import (
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/segment"
)

// encodeWindow is how far back a match may lie: a whole frame of the sidecar. The
// encoder's default level finds longer matches in UL than its fastest: together, a
// sixth less is stored than with that and half the window, for no more CPU time. The
// encoder takes about 2 MiB.
const encodeWindow = 512 << 10

// encoder encodes frames. Its buffers serve all streams, and exist from the first frame on.
// That of a frame grows to the largest one: lines of UL become a seventeenth.
type encoder struct {
	how  segment.Compression
	buf  []byte
	zstd *zstd.Encoder
	gzip *gzip.Writer
}

func newEncoder(how segment.Compression) (*encoder, error) {
	e := &encoder{how: how}
	var err error
	switch how {
	case segment.Gzip:
		e.gzip, err = gzip.NewWriterLevel(e, gzip.BestSpeed)
	case segment.Zstd:
		e.zstd, err = zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(1), // no goroutines
			zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(encodeWindow),
			zstd.WithEncoderCRC(true))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s encoder: %w", how, err)
	}
	return e, nil
}

// encode returns the frame for raw. It is valid until the next call.
func (e *encoder) encode(raw []byte) ([]byte, error) {
	if e.how == segment.None {
		return raw, nil
	}
	switch e.how {
	case segment.Zstd:
		e.buf = e.zstd.EncodeAll(raw, e.buf[:0])
	case segment.Gzip:
		e.buf = e.buf[:0]
		e.gzip.Reset(e)
		if _, err := e.gzip.Write(raw); err != nil {
			return nil, fmt.Errorf("compress frame: %w", err)
		}
		if err := e.gzip.Close(); err != nil {
			return nil, fmt.Errorf("compress frame: %w", err)
		}
	}
	return e.buf, nil
}

// Write collects the output of the gzip writer.
func (e *encoder) Write(p []byte) (int, error) {
	e.buf = append(e.buf, p...)
	return len(p), nil
}
