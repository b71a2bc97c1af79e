package segment

import (
	"os"

	"github.com/klauspost/compress/flate"
)

// window is a part of a file that is in memory. It begins at an offset.
type window struct {
	file  *os.File
	at    int64 // the offset of buf[lo] in the file
	lo    int
	buf   []byte
	limit int // the most bytes that the caller may need at once
}

// firstBuf is the initial size of a buffer, which doubles until it reaches its bound.
const firstBuf = 64 << 10

// bytes returns the bytes that are in memory.
func (w *window) bytes() []byte { return w.buf[w.lo:] }

// drop forgets the bytes in memory: the file may have changed.
func (w *window) drop() { w.at, w.lo, w.buf = 0, 0, w.buf[:0] }

// seek moves the beginning to an offset of the file and keeps the bytes that are
// still inside.
func (w *window) seek(at int64) {
	if ahead := at - w.at; ahead >= 0 && ahead <= int64(len(w.buf)-w.lo) {
		w.lo += int(ahead)
	} else {
		w.lo, w.buf = 0, w.buf[:0]
	}
	w.at = at
}

// need reads until n bytes are in memory. The error is io.EOF if the file ends before
// that, errTooLong if n is over the limit, and otherwise that of os.File.
func (w *window) need(n int) error {
	have := len(w.buf) - w.lo
	if have >= n {
		return nil
	}
	if n > w.limit {
		return errTooLong
	}
	if w.lo+n > cap(w.buf) || w.lo > 0 && have == 0 {
		into := w.buf[:0]
		if n > cap(into) {
			into = make([]byte, 0, min(max(n, 2*cap(into), firstBuf), w.limit))
		}
		into = into[:copy(into[:have], w.bytes())]
		w.buf, w.lo = into, 0
	}
	for have < n {
		got, err := w.file.ReadAt(w.buf[len(w.buf):cap(w.buf)], w.at+int64(have))
		w.buf = w.buf[:len(w.buf)+got]
		have += got
		if have < n && err != nil {
			return err
		}
	}
	return nil
}

// source reads a window byte by byte, or in pieces. It takes no more bytes than its caller
// wants, because gzip must not read past its member.
type source struct {
	in  *window
	n   int   // bytes taken
	err error // why there are no more
}

// ReadByte implements [io.ByteReader].
func (s *source) ReadByte() (byte, error) {
	if err := s.fill(); err != nil {
		return 0, err
	}
	b := s.in.bytes()[s.n]
	s.n++
	return b, nil
}

// Read implements [io.Reader].
func (s *source) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := s.fill(); err != nil {
		return 0, err
	}
	n := copy(p, s.in.bytes()[s.n:])
	s.n += n
	return n, nil
}

func (s *source) fill() error {
	if s.n < len(s.in.buf)-s.in.lo {
		return nil
	}
	s.err = s.in.need(s.n + 1)
	return s.err
}

// gzip stops at the end of its member only if it reads from a flate.Reader.
var _ flate.Reader = (*source)(nil)
