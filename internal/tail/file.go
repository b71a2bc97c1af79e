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

// A File is one content of a source file. While it is what the file holds, it
// has the file open; what is left of an earlier content are records of the
// spool. Its fields belong to its [Source]; only Content and Stream may be used
// elsewhere.
type File struct {
	of     position.Content
	stream *Stream
	rank
	naming
	growth

	fd        int // read-only, so that our own descriptor does not deny us the lease; -1: not held
	punchable bool

	read      position.Position // handed on
	queued    position.Position // end of the last chunk handed on
	committed position.Position // durable
	reclaimed int64             // punched up to here
	hollow    bool              // the first page was seen to be a hole
	counted   int64             // lines before this offset are in the read metrics
	records   records           // of lines that were moved into the spool

	seen      [position.CheckBytes]byte // the bytes before read.Offset
	seenLen   int
	openLevel ul.Level // of the line that is consumed in part
	ended     bool     // the rest was handed on, up to read.Offset

	endCounted bool  // ... and is in the read metrics
	relevel    bool  // read was moved: the classifier has to resume at its level
	solid      int64 // no hole between a place that was looked at and here

	unaligned bool  // it may be persisted already
	unheld    bool  // the file did not hold its saved position: it was truncated while nobody looked
	uncut     int64 // lines before it were looked at for countCut

	stuck bool // nothing of it can be moved or dropped now
}

// rank is what orders the files of a stream, see [File.compare].
type rank struct {
	pass  int   // the listing that found it
	round int   // of the scan that found it; 0: it was read before
	age   int64 // orders it among those of one round
}

// naming is the name of a file in the directory.
type naming struct {
	name     string // now; empty once it has none there
	fresh    bool   // its name has not been looked at
	renamed  bool   // it has a name that countMissed has not looked at
	keepName bool   // unlinking was refused; do not try again
}

// growth is how much a file was seen to grow.
type growth struct {
	dirty bool  // may have more to read
	size  int64 // as last seen
	grew  time.Time
	young bool // grew since the last Tick
	quiet bool // did not grow between the last two Ticks, and was not asked about since
}

// Content returns what the File is of.
func (f *File) Content() position.Content { return f.of }

// Stream returns the stream that the file belongs to.
func (f *File) Stream() *Stream { return f.stream }

// held reports whether the content is what the file holds.
func (f *File) held() bool { return f.fd >= 0 }

// savedOf returns the position that is kept of a file that is closed.
func savedOf(f *File) known {
	return known{Saved: position.Saved{Stream: f.stream.name, Position: f.committed}, epoch: f.of.Epoch}
}

// caughtUp reports whether everything that is in the file, as last seen, has
// been committed.
func (f *File) caughtUp() bool {
	if !f.held() {
		return f.committed == f.queued && f.records.next(f.read.Offset) == nil
	}
	return f.committed == f.queued && f.records.empty() && f.read.Offset == f.size && !f.read.Open
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
	// A hole that somebody maps into memory and reads has zeros afterwards.
	data, err := f.nextData(0)
	return err == nil && data == 0 && !zeroAt(f.fd, 0)
}

// zeroAt reports whether the byte at offset in a file is zero. A JVM writes none; a kernel
// with larger pages than ours leaves zeros where pages were given back.
func zeroAt(fd int, offset int64) bool {
	var b [1]byte
	n, err := unix.Pread(fd, b[:], offset)
	return err == nil && n == 1 && b[0] == 0
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
	if !f.held() {
		f.read, f.queued = f.committed, f.committed
		return nil
	}
	if !f.holds(f.committed) {
		return fmt.Errorf("rewind %q: %w", f.name, errRewritten)
	}
	counted := f.counted
	err := f.moveTo(f.committed)
	f.counted = counted
	return err
}

// renewed returns the File of what is in a truncated file now. What is left of
// f are the records whose lines are not durable, and the chunks on their way to the
// destination.
func (f *File) renewed() *File {
	g := &File{
		of:        position.Content{Identity: f.of.Identity, Epoch: f.of.Epoch + 1},
		stream:    f.stream,
		rank:      f.rank,
		naming:    f.naming,
		growth:    growth{grew: f.grew, young: true, size: f.size},
		fd:        f.fd,
		punchable: f.punchable,
	}
	f.fd, f.punchable = -1, false
	f.naming = naming{}
	return g
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
