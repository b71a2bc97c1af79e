package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const (
	blockBytes = 256 << 10

	// windowBytes is how far back a match may lie in a Zstandard file: zstd's levels up to
	// 19 stay within it. It bounds the memory of the decoder.
	windowBytes = 8 << 20
)

// openRegular opens a regular file. It does not follow a link, nor wait for the writer of
// a FIFO, that has taken the file's place.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	stat, err := f.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open the log %s: %w", path, err)
	}
	return f, nil
}

// decoded is a file and what reads its content.
type decoded struct {
	io.Reader
	file *os.File
	end  func()
}

func (d *decoded) Close() error {
	if d.end != nil {
		d.end()
	}
	return d.file.Close()
}

// suffix returns the suffix of a file's compression: of its name, or the one that it would
// have by its first bytes.
func suffix(f *os.File) string {
	if ext := filepath.Ext(f.Name()); ext == ".gz" || ext == ".zst" {
		return ext
	}
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	switch begin := string(magic[:n]); {
	case strings.HasPrefix(begin, "\x1f\x8b"):
		return ".gz"
	case begin == "\x28\xb5\x2f\xfd":
		return ".zst"
	}
	return ""
}

// decode reads a file by its suffix: .gz, .zst, or as it is.
func decode(f *os.File, suffix string) (io.ReadCloser, error) {
	switch suffix {
	case ".gz":
		r, err := gzip.NewReader(bufio.NewReaderSize(f, blockBytes))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("decode %s: not gzip data: %w", f.Name(), err)
		}
		return &decoded{Reader: r, file: f}, nil
	case ".zst":
		r, err := zstd.NewReader(bufio.NewReaderSize(f, blockBytes), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowBytes))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("decode %s: %w", f.Name(), err)
		}
		return &decoded{Reader: r, file: f, end: r.Close}, nil
	}
	return f, nil
}
