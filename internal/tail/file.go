package tail

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// A File is one source file that is held open. Its fields belong to its
// [Source]; only Identity and Stream may be used elsewhere.
type File struct {
	id     position.Identity
	stream *Stream
	name   string // in the directory now; empty once it has none there

	fresh   bool // its name has not been looked at
	renamed bool // it has a name that countMissed has not looked at

	fd    int   // read-only, so that our own descriptor does not deny us the lease
	pass  int   // the listing that found it
	round int   // of the scan that found it, see [Source]; 0: it was read before
	age   int64 // orders it among those of one round

	punchable bool
	keepName  bool // unlinking was refused; do not try again

	read      position.Position // handed on
	queued    position.Position // end of the last chunk handed on
	committed position.Position // durable
	reclaimed int64             // punched up to here
	hollow    bool              // the first page was seen to be a hole
	counted   int64             // lines before this offset are in the read metrics
	epoch     int               // number of truncations seen

	seen      [position.CheckBytes]byte // the bytes before read.Offset
	seenLen   int
	openLevel ul.Level // of the line that is consumed in part
	ended     bool     // the rest was handed on, up to read.Offset

	endCounted bool  // ... and is in the read metrics
	relevel    bool  // read was moved: the classifier has to be told its level
	solid      int64 // no hole between a place that was looked at and here

	gaps        []gap     // in order, those whose markers are not durable
	gapBytes    int64     // that they take out of the backlog
	gapsChanged bool      // since they were last recorded
	drops       *dropping // nil: nothing was ever dropped
	orphan      ul.Gap    // of what was in the file before it was truncated, and has no marker yet
	telling     []told    // ... whose markers were handed on, and are not durable
	unaligned   bool      // it may be persisted already
	unheld      bool      // it did not hold its saved position: it was truncated while nobody looked
	uncut       int64     // lines before it were looked at for countCut

	dirty bool  // may have more to read
	size  int64 // as last seen
	grew  time.Time
	young bool // grew since the last Tick
	quiet bool // did not grow between the last two Ticks, and was not asked about since
}

// Identity returns the file's identity.
func (f *File) Identity() position.Identity { return f.id }

// Stream returns the stream that the file belongs to.
func (f *File) Stream() *Stream { return f.stream }

// savedOf returns what is known of a file that has no gaps and is let go of.
func savedOf(f *File) Saved {
	return Saved{Stream: f.stream.name, Position: f.committed, Epoch: f.epoch}
}

// caughtUp reports whether everything that is in the file, as last seen, has
// been committed.
func (f *File) caughtUp() bool {
	return f.read.Offset == f.size && f.committed == f.queued && !f.read.Open && len(f.telling) == 0 && f.orphan.Total() == 0
}

// advance moves the read position over data, which begins at the position,
// and remembers how it ends.
func (f *File) advance(data []byte) {
	f.read.Offset += int64(len(data))
	k := position.Span(f.read.Offset)
	if len(data) >= k {
		f.seenLen = copy(f.seen[:], data[len(data)-k:])
	} else {
		keep := min(f.seenLen, k-len(data))
		copy(f.seen[:], f.seen[f.seenLen-keep:f.seenLen])
		f.seenLen = keep + copy(f.seen[keep:], data)
	}
	f.setCheck()
}

func (f *File) setCheck() {
	f.read.Check = position.Checksum(f.seen[:f.seenLen])
	f.read.CheckLen = f.seenLen
}

// jump moves the read position without having read what is before it.
func (f *File) jump(offset int64) {
	f.read.Offset = offset
	f.seenLen = 0
	f.setCheck()
}

// lookWhetherHollow takes in whether the first page is a hole now. With larger
// pages than ours a punch leaves it, as zeros.
func (f *File) lookWhetherHollow() {
	data, err := f.nextData(0)
	f.hollow = err == nil && data >= position.PageSize && f.reclaimed >= position.PageSize
}

// refilled reports whether the file was written again from its beginning: its
// first page was given back, and has data again. Two logs may have the same
// bytes before a position.
func (f *File) refilled() bool {
	if !f.hollow {
		return false
	}
	data, err := f.nextData(0)
	return err == nil && data == 0
}

// holds reports whether p can still be a position in this file: the file
// reaches it, and the bytes before it are those that were consumed.
func (f *File) holds(p position.Position) bool { return !f.refilled() && p.In(f.fd) }

// moveTo sets all positions of the file to p, which it holds.
func (f *File) moveTo(p position.Position) error {
	n, err := unix.Pread(f.fd, f.seen[:p.CheckLen], p.Offset-int64(p.CheckLen))
	if err != nil {
		return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, f.name, err)
	}
	if n != p.CheckLen {
		return fmt.Errorf("read the bytes before offset %d of %q: %w", p.Offset, f.name, errRewritten)
	}
	f.seenLen, f.solid = n, 0
	f.read, f.queued, f.committed, f.counted = p, p, p, p.Offset
	f.openLevel, f.relevel = p.Level, true
	f.ended = p.Offset > 0 && !p.Open && n > 0 && f.seen[n-1] != '\n'
	return nil
}

// errRewritten says that a file does not hold a position any more.
var errRewritten = errors.New("it was truncated and written again")

// rewind goes back to what is committed.
func (f *File) rewind() error {
	if !f.holds(f.committed) {
		return fmt.Errorf("rewind %q: %w", f.name, errRewritten)
	}
	counted := f.counted
	err := f.moveTo(f.committed)
	f.counted = counted
	return err
}

// told is what was dropped in a file before it was truncated, and where its
// marker ends in what was handed on.
type told struct {
	epoch  int
	offset int64
	ul.Gap
}

// untoldOrphan returns what has no durable marker of what was in the file
// before it was truncated.
func (f *File) untoldOrphan() ul.Gap {
	sum := f.orphan
	for _, t := range f.telling {
		sum.Add(t.Gap)
	}
	return sum
}

// restart begins again at the beginning of a file that was truncated.
func (f *File) restart() {
	for i := range f.gaps {
		if g := &f.gaps[i]; f.untold(g) {
			f.orphan.Add(g.Gap)
		} else {
			f.telling = append(f.telling, told{f.epoch, g.end.Offset, g.Gap})
		}
	}
	f.read, f.queued, f.committed = position.Position{}, position.Position{}, position.Position{}
	f.reclaimed, f.hollow, f.counted, f.solid, f.seenLen = 0, false, 0, 0, 0
	f.ended, f.endCounted = false, false
	f.drops, f.uncut = nil, 0
	f.setGaps(nil)
	f.unaligned = false
	f.epoch++
}

// pread reads area from the read position and compares, in the same call, the
// bytes before it with those that were consumed. rewritten says that they
// differ or are gone.
func (f *File) pread(area []byte) (n int, rewritten bool, err error) {
	var overlap [position.CheckBytes]byte
	n, err = unix.Preadv(f.fd, [][]byte{overlap[:f.seenLen], area}, f.read.Offset-int64(f.seenLen))
	if err != nil {
		return 0, false, fmt.Errorf("read %q: %w", f.name, err)
	}
	if n == 0 && f.read.Offset > 0 && f.seenLen == 0 {
		size, _, err := f.sizeNow()
		return 0, size < f.read.Offset, err
	}
	if n < f.seenLen || !bytes.Equal(overlap[:f.seenLen], f.seen[:f.seenLen]) || f.refilled() {
		return 0, true, nil
	}
	return n - f.seenLen, false, nil
}

// preadBehind reads area from n bytes behind the read position, which the
// caller has just read.
func (f *File) preadBehind(area []byte, n int) (int, error) {
	more, err := unix.Pread(f.fd, area, f.read.Offset+int64(n))
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", f.name, err)
	}
	return more, nil
}

// nextHole returns where the data that offset lies in ends.
func (f *File) nextHole(offset int64) (int64, error) {
	at, err := unix.Seek(f.fd, offset, unix.SEEK_HOLE)
	if err != nil {
		return 0, fmt.Errorf("look for a hole in %q: %w", f.name, err)
	}
	return at, nil
}

// nextData returns the first offset at or behind the given one that is not in
// a hole, or the end of the file.
func (f *File) nextData(offset int64) (int64, error) {
	at, err := unix.Seek(f.fd, offset, unix.SEEK_DATA)
	if err == unix.ENXIO {
		var st unix.Stat_t
		if err := unix.Fstat(f.fd, &st); err != nil {
			return 0, fmt.Errorf("stat %q: %w", f.name, err)
		}
		return max(offset, st.Size), nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for data in %q: %w", f.name, err)
	}
	return at, nil
}

// sizeNow asks the kernel for the file's size and number of names.
func (f *File) sizeNow() (size int64, links uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return 0, 0, fmt.Errorf("stat %q: %w", f.name, err)
	}
	return st.Size, uint64(st.Nlink), nil
}
