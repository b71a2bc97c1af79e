package cat

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/ullage/ullage/internal/segment"
)

func isCompressed(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".zst" || ext == ".gz"
}

// foreign reads a compressed file that is not a segment. Its frames can have any size,
// so it is decoded as a stream, and nothing after damage is read.
type foreign struct {
	file *os.File
	raw  io.ReadCloser
	buf  []byte
	done int64
}

func openForeign(seg segment.Info) (*foreign, error) {
	file, err := os.Open(seg.Path)
	if err != nil {
		return nil, err
	}
	how := segment.Zstd
	if filepath.Ext(seg.Name) == ".gz" {
		how = segment.Gzip
	}
	raw, err := segment.Decode(bufio.NewReaderSize(file, bufferSize), how)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &foreign{file: file, raw: raw, buf: make([]byte, bufferSize)}, nil
}

// next returns the next raw bytes, or the error that ends them.
func (f *foreign) next() ([]byte, error) {
	n, err := f.raw.Read(f.buf)
	f.done += int64(n)
	if n > 0 {
		return f.buf[:n], nil // the next call returns the error again
	}
	return nil, err
}

func (f *foreign) close() {
	_ = f.raw.Close() // nothing was written
	_ = f.file.Close()
}

// readForeign returns the next raw bytes of the file, or nil at its end.
func (s *series) readForeign() []byte {
	seg := s.files[0]
	if s.foreign == nil {
		f, err := openForeign(seg)
		if err != nil {
			s.over = true
			s.p.complain("%v", readError(seg.Path, err))
			return nil
		}
		s.foreign = f
	}
	for {
		raw, err := s.foreign.next()
		switch {
		case len(raw) > 0:
			return raw
		case err == io.EOF:
			s.over = true
			return nil
		case err != nil:
			s.over = true
			s.p.complain("%s: cannot be read further, %d bytes were printed: %v", quoted(seg.Path), s.foreign.done, reason(err))
			return nil
		}
	}
}
