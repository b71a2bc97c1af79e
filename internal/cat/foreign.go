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
	raw, err := decoder(file, seg.Name)
	if err != nil {
		s.p.complain("%v", readError(seg.Path, err))
		return nil
	}
	defer raw.Close()
	var out io.Writer = s.p.out
	if s.lines != nil {
		out = writerFunc(func(p []byte) (int, error) { return len(p), s.lines.write(p) })
	}
	buf := make([]byte, bufferSize)
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, readErr := raw.Read(buf)
		done += int64(n)
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			s.p.complain("%s: cannot be read further, %d bytes were printed: %v", quoted(seg.Path), done, reason(readErr))
			return nil
		}
	}
}

// decoder reads the decompressed content of a file.
func decoder(file *os.File, name string) (io.ReadCloser, error) {
	if filepath.Ext(name) == ".gz" {
		r, err := gzip.NewReader(bufio.NewReaderSize(file, bufferSize))
		if err != nil {
			return nil, fmt.Errorf("not gzip data: %w", err)
		}
		return r, nil
	}
	r, err := zstd.NewReader(file,
		zstd.WithDecoderConcurrency(1), // no goroutines
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return r.IOReadCloser(), nil
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }
