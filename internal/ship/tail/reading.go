package tail

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// reading is how far a content was handed on, and what reading needs to go on
// from there.
type reading struct {
	position.Position

	before     [position.CheckBytes]byte // the bytes before Offset
	beforeLen  int
	openLevel  ul.Level // of the line that is consumed in part
	ended      bool     // the rest was handed on, up to Offset
	relevel    bool     // Offset was moved: the classifier has to resume at Level
	holeFreeTo int64    // no hole was found between the read position and this offset
}

// errRewritten says that a file does not hold a position any more.
var errRewritten = errors.New("it was truncated and written again")

// advance moves the position over data, which begins at the position, and
// remembers how it ends.
func (r *reading) advance(data []byte) {
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

// lastBytes returns the bytes before the position, which the next read compares.
func (r *reading) lastBytes() []byte { return r.before[:r.beforeLen] }

func (r *reading) setCheck() {
	r.Check = position.Checksum(r.before[:r.beforeLen])
	r.CheckLen = r.beforeLen
}

// jump moves the position without having read what is before it.
func (r *reading) jump(offset int64) {
	r.Offset = offset
	r.beforeLen = 0
	r.setCheck()
}

// moveTo begins again at p, which the file holds. Name is for errors.
func (r *reading) moveTo(p position.Position, fd int, name string) error {
	n, err := unix.Pread(fd, r.before[:p.CheckLen], p.Offset-int64(p.CheckLen))
	if err == nil && n != p.CheckLen {
		err = errRewritten
	}
	if err != nil {
		return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, name, err)
	}
	r.Position, r.beforeLen, r.holeFreeTo = p, n, 0
	r.openLevel, r.relevel = p.Level, true
	r.ended = p.Offset > 0 && !p.Open && n > 0 && r.before[n-1] != '\n'
	return nil
}

// jumpTo moves the position to p, over bytes that were not read. A content that
// its file does not hold any more, with fd -1, has nothing to compare.
func (r *reading) jumpTo(p position.Position, fd int, name string) error {
	if fd >= 0 {
		n, err := unix.Pread(fd, r.before[:p.CheckLen], p.Offset-int64(p.CheckLen))
		if err != nil {
			return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, name, err)
		}
		if n != p.CheckLen || position.Checksum(r.before[:n]) != p.Check {
			return errRewritten
		}
		r.beforeLen = n
	}
	r.Position, r.openLevel = p, p.Level
	r.ended, r.relevel = false, false
	return nil
}
