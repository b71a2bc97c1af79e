package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
)

// file is one file of a stream, with the times of its first record.
type file struct {
	path  string
	size  int64
	mod   time.Time
	first head
}

// head holds the times of a file's first record.
type head struct {
	when  time.Time // zero: no date
	up    time.Duration
	timed bool // up is known
}

// head reads the first record of the file. A file that cannot be read is treated as a file
// without times: its error occurs again when the file is read.
func (f *file) head() (h head) {
	var s read.Source
	if f.open(&s) != nil {
		return h
	}
	defer s.Close()
	s.Lines.SkipHoles = true
	for n := 0; n < headBytes && s.Read() == nil; {
		n += len(s.Lines.Rest())
		for p := range s.Lines.Heads() {
			var r ul.Record
			if r.Parse(p.Head()); r.Kind != ul.Header {
				continue
			}
			h.when, _ = r.When()
			if h.up, h.timed = r.Since(); h.timed || !h.when.IsZero() {
				return h
			}
		}
	}
	return h
}

// headBytes is how much of a file is searched for its first record, rounded up to a block.
const headBytes = 64 << 10

// open makes a source read the file. The file is decoded according to its suffix or, if it has
// none, to its first bytes.
func (f *file) open(s *read.Source) error {
	in, err := untrusted.OpenFile(nil, f.path, unix.O_RDONLY, 0) // fails if a file of another kind is there now
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	if err := s.Decode(in, f.path, compression(in), segment.Info{}); err != nil {
		return fmt.Errorf("decode %s: %w", f.path, err)
	}
	return nil
}

// compression returns how a file is compressed.
func compression(f *os.File) segment.Compression {
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	switch ext, begin := filepath.Ext(f.Name()), string(magic[:n]); {
	case ext == ".gz", ext != ".zst" && strings.HasPrefix(begin, "\x1f\x8b"):
		return segment.Gzip
	case ext == ".zst", begin == "\x28\xb5\x2f\xfd":
		return segment.Zstd
	}
	return segment.None
}
