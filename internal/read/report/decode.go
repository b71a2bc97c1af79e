package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

const blockBytes = 256 << 10

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
	io.ReadCloser
	file *os.File
}

func (d *decoded) Close() error {
	return errors.Join(d.ReadCloser.Close(), d.file.Close())
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
	how := segment.Zstd
	switch suffix {
	case ".gz":
		how = segment.Gzip
	case "":
		return f, nil
	}
	r, err := segment.Decode(bufio.NewReaderSize(f, blockBytes), how)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("decode %s: %w", f.Name(), err)
	}
	return &decoded{r, f}, nil
}
