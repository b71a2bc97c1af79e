package source

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// Reading is how far a content was handed on, with the state that is needed to continue
// from there.
type Reading struct {
	position.Position

	before     [position.CheckBytes]byte // the bytes before Offset
	beforeLen  int
	OpenLevel  ul.Level // level of the partly consumed line
	Ended      bool     // the unterminated rest was handed on, up to Offset
	Relevel    bool     // Offset was moved: the classifier has to resume at Level
	HoleFreeTo int64    // no hole was found between the read position and this offset
}

// ErrRewritten reports that a file no longer holds a position.
var ErrRewritten = errors.New("it was truncated and written again")

// Advance moves the position over data, which begins at the position, and remembers the
// last bytes of data.
func (r *Reading) Advance(data []byte) {
	r.Offset += int64(len(data))
	k := position.Span(r.Offset)
	if len(data) >= k {
		r.beforeLen = copy(r.before[:], data[len(data)-k:])
	} else {
		keep := min(r.beforeLen, k-len(data))
		copy(r.before[:], r.before[r.beforeLen-keep:r.beforeLen])
		r.beforeLen = keep + copy(r.before[keep:], data)
	}
	r.setCheck()
}

// LastBytes returns the bytes before the position, which the next read compares.
func (r *Reading) LastBytes() []byte { return r.before[:r.beforeLen] }

func (r *Reading) setCheck() {
	r.Check = position.Checksum(r.before[:r.beforeLen])
	r.CheckLen = r.beforeLen
}

// Jump moves the position without reading the bytes before it.
func (r *Reading) Jump(offset int64) {
	r.Offset = offset
	r.beforeLen = 0
	r.setCheck()
}

// moveTo moves the position to p, which the file holds. name is for errors.
func (r *Reading) moveTo(p position.Position, fd int, name string) error {
	n, err := unix.Pread(fd, r.before[:p.CheckLen], p.Offset-int64(p.CheckLen))
	if err == nil && n != p.CheckLen {
		err = ErrRewritten
	}
	if err != nil {
		return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, name, err)
	}
	r.Position, r.beforeLen, r.HoleFreeTo = p, n, 0
	r.OpenLevel, r.Relevel = p.Level, true
	r.Ended = p.Offset > 0 && !p.Open && n > 0 && r.before[n-1] != '\n'
	return nil
}

// jumpTo moves the position to p, over bytes that were not read. If the file no longer
// holds the content (fd is -1), there are no bytes to compare.
func (r *Reading) jumpTo(p position.Position, fd int, name string) error {
	if fd >= 0 {
		n, err := unix.Pread(fd, r.before[:p.CheckLen], p.Offset-int64(p.CheckLen))
		if err != nil {
			return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, name, err)
		}
		if n != p.CheckLen || position.Checksum(r.before[:n]) != p.Check {
			return ErrRewritten
		}
		r.beforeLen = n
	}
	r.Position, r.OpenLevel = p, p.Level
	r.Ended, r.Relevel = false, false
	return nil
}
