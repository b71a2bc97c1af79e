package segment

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// foreignWindow is how far back a match may be in a Zstandard file that no sidecar wrote.
// zstdcat has the same bound, and zstd --long=27 uses all of it. It bounds the memory of the
// decoder.
const foreignWindow = 128 << 20

// Decode decompresses a file or an object as a stream: its frames may have any size. It stops
// at damage. The caller closes the result first, then the file or the object.
func Decode(in io.Reader, how Compression) (io.ReadCloser, error) {
	switch how {
	case Gzip:
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("not gzip data: %w", err)
		}
		return r, nil
	case None:
		return io.NopCloser(in), nil
	}
	r, err := zstd.NewReader(in,
		zstd.WithDecoderConcurrency(1), // no goroutines
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(foreignWindow))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return r.IOReadCloser(), nil
}
