package cat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/segment"
)

// zstdWindow is how far back a match may lie in a Zstandard file of another
// program. zstdcat has the same bound.
const zstdWindow = 128 << 20

func isCompressed(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".zst" || ext == ".gz"
}

// printForeign prints a compressed file that is not a segment. Its frames can
// have any size, so it is decoded as a stream, and nothing after damage is
// read.
func (s *series) printForeign(ctx context.Context, seg segment.Info) error {
	file, err := os.Open(seg.Path)
	if err != nil {
		s.p.complain("%v", readError(seg.Path, err))
		return nil
	}
	defer file.Close()
	how := segment.Zstd
	if filepath.Ext(seg.Name) == ".gz" {
		how = segment.Gzip
	}
	raw, err := decode(bufio.NewReaderSize(file, bufferSize), how)
	if err != nil {
		s.p.complain("%v", readError(seg.Path, err))
		return nil
	}
	defer raw.Close()
	done, failed, err := s.copy(ctx, raw)
	if failed != nil {
		s.p.complain("%s: cannot be read further, %d bytes were printed: %v", quoted(seg.Path), done, reason(failed))
	}
	return err
}

// copy prints what a reader has, as far as it is wanted. It returns how much that was,
// why no more can be read, and an error of the output or of ctx.
func (s *series) copy(ctx context.Context, raw io.Reader) (done int64, failed, err error) {
	buf := make([]byte, bufferSize)
	for {
		if err := ctx.Err(); err != nil {
			return done, nil, err
		}
		n, readErr := raw.Read(buf)
		done += int64(n)
		if s.lines != nil {
			err = s.lines.write(buf[:n])
		} else {
			_, err = s.p.out.Write(buf[:n])
		}
		switch {
		case err != nil:
			return done, nil, err
		case readErr == io.EOF:
			return done, nil, nil
		case readErr != nil:
			return done, readErr, nil
		}
	}
}

// decode reads what a file or an object decompresses to, as a stream.
func decode(in io.Reader, how segment.Compression) (io.ReadCloser, error) {
	switch how {
	case segment.Gzip:
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("not gzip data: %w", err)
		}
		return r, nil
	case segment.None:
		return io.NopCloser(in), nil
	}
	r, err := zstd.NewReader(in,
		zstd.WithDecoderConcurrency(1), // no goroutines
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return r.IOReadCloser(), nil
}
