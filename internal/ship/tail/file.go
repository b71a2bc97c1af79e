package tail

import (
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// A File is one content of a source file. While it is what the file holds, it
// has the file open; what is left of an earlier content are records of the
// spool. Its fields belong to its [Source]; only Content and Stream may be used
// elsewhere.
type File struct {
	of     position.Content
	stream *Stream
	rank
	entry
	growth
	inode inode

	read      reading           // handed on
	queued    position.Position // end of the last chunk handed on
	committed position.Position // durable
	counted   counted
	records   records // of lines that were moved into the spool
	awaited   awaited

	unaligned bool // it may be persisted already
	unheld    bool // the file did not hold its saved position: it was truncated while nobody looked
	stuck     bool // nothing of it can be moved or dropped now
}

// rank is what orders the files of a stream, see [File.compare].
type rank struct {
	pass  int   // the listing that found it
	round int   // of the scan that found it; 0: it was read before
	age   int64 // orders it among those of one round
}

// entry is the name of a file in the directory.
type entry struct {
	name     string // now; empty once it has none there
	fresh    bool   // its name has not been looked at
	renamed  bool   // it has a name that countMissed has not looked at
	keepName bool   // unlinking was refused; do not try again
}

// growth is how much a file was seen to grow.
type growth struct {
	dirty bool  // may have more to read
	flows bool  // had something to read since the last Poll
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
func (f *File) held() bool { return f.inode.fd >= 0 }

// saved returns the position that is kept of a file that is closed.
func (f *File) saved() known {
	return known{Saved: position.Saved{Stream: f.stream.name, Position: f.committed}, epoch: f.of.Epoch}
}

// givenBack reports whether reading begins at the beginning of a file that begins with a
// hole, for which no record stands: a process that knew a later position has punched it. A
// later position in a hole is not held, since the bytes before it are gone.
func (f *File) givenBack() bool {
	if !f.held() || f.read.Offset > 0 || f.size <= position.PageSize || !f.inode.beginsWithHole() {
		return false
	}
	r := f.records.next(0)
	return r == nil || r.From > 0
}

// caughtUp reports whether everything that is in the file, as last seen, has
// been committed.
func (f *File) caughtUp() bool {
	if !f.held() {
		return f.committed == f.queued && f.records.next(f.read.Offset) == nil
	}
	return f.committed == f.queued && f.records.empty() && f.read.Offset == f.size && !f.read.Open
}

// grow records a new size.
func (f *File) grow(size int64, now time.Time) {
	f.size = size
	f.grew = now
	f.young = true
}

// backlog leaves out what was dropped: it is not there any more.
func (f *File) backlog() int64 {
	if !f.held() {
		return f.records.bytes - f.records.lost
	}
	return max(0, f.size-f.committed.Offset-f.records.lost)
}

// moveTo sets all positions of the file to p, which it holds.
func (f *File) moveTo(p position.Position) error {
	if err := f.read.moveTo(p, f.inode.fd, f.name); err != nil {
		return err
	}
	f.queued, f.committed, f.counted.to = p, p, p.Offset
	return nil
}

// jumpTo moves the read position to p, over bytes that were not read.
func (f *File) jumpTo(p position.Position) error { return f.read.jumpTo(p, f.inode.fd, f.name) }

// rewind goes back to what is committed.
func (f *File) rewind() error {
	if !f.held() {
		f.read.Position, f.queued = f.committed, f.committed
		return nil
	}
	if !f.inode.holds(f.committed) {
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
		of:     position.Content{Identity: f.of.Identity, Epoch: f.of.Epoch + 1},
		stream: f.stream,
		rank:   f.rank,
		entry:  f.entry,
		growth: growth{grew: f.grew, young: true, size: f.size},
		inode:  inode{fd: f.inode.fd, punchable: f.inode.punchable},
	}
	f.inode.fd, f.inode.punchable = -1, false
	f.entry = entry{}
	return g
}

// failed wraps an error of a call for the file.
func (f *File) failed(call string, err error) error {
	return fmt.Errorf("%s %q: %w", call, f.name, err)
}

// intact reports whether a record is still one of what is in the file: the
// bytes before its end are those that were moved, and nobody has written again
// what was given back. Two logs may well have the same bytes at the same place.
func (f *File) intact(r *spooled) bool {
	if !f.held() {
		return true // nothing but records is left of the content
	}
	if !f.inode.holds(r.End) {
		return false
	}
	from, to := r.pages()
	if r.full || from == to {
		return true
	}
	data, err := f.inode.nextData(from)
	if err != nil || data >= to {
		return err == nil
	}
	return f.inode.zeroAt(data)
}

// holdsRecords reports whether all records can be of what is in the file.
func (f *File) holdsRecords() bool {
	for i := range f.records.list {
		if !f.intact(&f.records.list[i]) {
			return false
		}
	}
	return true
}

// changed reports whether the file is not what was read of it any more.
func (f *File) changed() bool {
	size, _, err := f.inode.stat()
	return err != nil || size != f.size || !f.inode.holds(f.read.Position)
}

// unknownGrace is how long a file must have been quiet to count as finished
// where the kernel does not show whether it has a writer: the lease is granted
// to the file's owner only.
const unknownGrace = 5 * time.Second

// writerless reports whether nobody writes the file any more.
func (f *File) writerless(now time.Time) bool {
	switch f.inode.writers() {
	case writersNone:
		return true
	case writersSome:
		return false
	}
	rotatedAway := f.name == "" || f.stream.superseded(f)
	return rotatedAway && now.Sub(f.grew) > unknownGrace
}

// front returns where the part of f begins that is neither handed on nor moved,
// whether that is inside a line, and the level there.
func (f *File) front() (offset int64, open bool, level ul.Level) {
	if r := f.records.last(); r != nil && r.End.Offset > f.read.Offset {
		return r.End.Offset, r.End.Open, r.End.Level
	}
	if f.read.Open {
		return f.read.Offset, true, f.read.openLevel
	}
	return f.read.Offset, false, f.read.Level
}

// maxWhole is the size up to which a file that is not a log stays whole. A report has
// some 100 KB. A larger file is treated like a log: it could fill the tmpfs.
const maxWhole = 8 << 20

// whole reports whether no part of the file is given back before all of it is durable and
// has no writer any more, under pressure neither. A dying JVM does not write its report
// twice, and other programs read it while it is written (-XX:OnError).
func (f *File) whole() bool {
	return naming.KindOf(f.stream.name) != naming.KindLog && f.size <= maxWhole
}
