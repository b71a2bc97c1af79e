package source

import (
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// A File is one content of a source file. While the file has this content, the File holds it
// open. An earlier content has only records in the spool. The comment of the package lists
// which part changes which field.
type File struct {
	Of     position.Content
	Stream *Stream
	Rank   Rank   // among the files of its stream
	Entry  Entry  // its name
	Growth Growth // as seen
	Inode  Inode

	Read      Reading           // handed on
	Queued    position.Position // end of the last chunk handed on
	Committed position.Position // durable
	Counted   Counted
	Records   Records // of lines that were moved into the spool
	awaited   awaited

	Unaligned bool // its lines may already be persisted
	Unheld    bool // the file did not hold its saved position, because it was truncated while no sidecar was running
	Stuck     bool // none of its lines can be moved or dropped now
}

// awaited is a position in a content, with the time when it first became known that all lines
// before the position have to become durable. Once this position is durable, the next one is
// chosen. So the time advances even if the content always has something to commit.
type awaited struct {
	to    int64
	since time.Time // zero: nothing is awaited
}

// Rank orders the files of a stream, see compareAge.
type Rank struct {
	Pass  int   // the listing that found the file
	Round int   // the round of the scan that found the file; 0: it was read before
	Age   int64 // orders the files of one round
}

// Entry is the name of a file in the directory.
type Entry struct {
	Name     string // the present name; empty if the file has no name in the directory any more
	Fresh    bool   // the name has not been examined yet
	Renamed  bool   // the name is new and was not checked for missing archives
	KeepName bool   // unlinking was refused; do not try again
}

// Growth describes how a file was seen to grow.
type Growth struct {
	Dirty bool  // may have more to read
	flows bool  // had data to read since the last TouchFlowing
	Size  int64 // as last seen
	Grew  time.Time
	Young bool // grew since the last Tick
	Quiet bool // did not grow between the last two Ticks, and its writers were not checked since
}

// Known is the known state of a file that is not held: how far its newest content was
// consumed.
type Known struct {
	position.Saved
	Epoch uint32
}

// Content returns the content that positions in the file refer to.
func (k Known) Content(id position.Identity) position.Content {
	return position.Content{Identity: id, Epoch: k.Epoch}
}

// Named returns the stream that the file's name determines. A file without a name belongs to
// the stream to which its lines went.
func (f *File) Named() string {
	if f.Entry.Name == "" {
		return f.Stream.Name
	}
	return naming.StreamOf(f.Entry.Name)
}

// Held reports whether the file still holds the content.
func (f *File) Held() bool { return f.Inode.FD >= 0 }

// Saved returns the position to keep when the file is closed.
func (f *File) Saved() Known {
	return Known{Saved: position.Saved{Stream: f.Stream.Name, Position: f.Committed}, Epoch: f.Of.Epoch}
}

// GivenBack reports whether reading begins at the start of a file that begins with a hole
// without a record. A process that knew a later position has punched that hole. Reading
// cannot begin inside the hole, because the bytes before a position there are gone.
func (f *File) GivenBack() bool {
	if !f.Held() || f.Read.Offset > 0 || f.Growth.Size <= position.PageSize || !f.Inode.beginsWithHole() {
		return false
	}
	r := f.Records.Next(0)
	return r == nil || r.From > 0
}

// CaughtUp reports whether everything that was last seen in the file has been
// committed.
func (f *File) CaughtUp() bool {
	if !f.Held() {
		return f.Committed == f.Queued && f.Records.Next(f.Read.Offset) == nil
	}
	return f.Committed == f.Queued && f.Records.Empty() && f.Read.Offset == f.Growth.Size && !f.Read.Open
}

// grow records a new size.
func (f *File) grow(size int64, now time.Time) {
	f.Growth.Size = size
	f.Growth.Grew = now
	f.Growth.Young = true
}

// Backlog returns the number of uncommitted bytes without dropped bytes, which no longer exist.
func (f *File) Backlog() int64 {
	if !f.Held() {
		return f.Records.Bytes - f.Records.Lost
	}
	return max(0, f.Growth.Size-f.Committed.Offset-f.Records.Lost)
}

// MoveTo sets all positions of the file to p, a position that the file holds.
func (f *File) MoveTo(p position.Position) error {
	if err := f.Read.moveTo(p, f.Inode.FD, f.Entry.Name); err != nil {
		return err
	}
	f.Queued, f.Committed, f.Counted.To = p, p, p.Offset
	return nil
}

// JumpTo moves the read position to p, over bytes that were not read.
func (f *File) JumpTo(p position.Position) error { return f.Read.jumpTo(p, f.Inode.FD, f.Entry.Name) }

// rewind returns to the committed position.
func (f *File) rewind() error {
	if !f.Held() {
		f.Read.Position, f.Queued = f.Committed, f.Committed
		return nil
	}
	if !f.Inode.Holds(f.Committed) {
		return fmt.Errorf("rewind %q: %w", f.Entry.Name, ErrRewritten)
	}
	counted := f.Counted
	err := f.MoveTo(f.Committed)
	f.Counted = counted
	return err
}

// renewed returns the File for the new content of a truncated file. Only two things of f are
// left: the records whose lines are not durable, and the chunks on their way to the
// destination.
func (f *File) renewed() *File {
	g := &File{
		Of:     position.Content{Identity: f.Of.Identity, Epoch: f.Of.Epoch + 1},
		Stream: f.Stream,
		Rank:   f.Rank,
		Entry:  f.Entry,
		Growth: Growth{Grew: f.Growth.Grew, Young: true, Size: f.Growth.Size},
		Inode:  Inode{FD: f.Inode.FD, Punchable: f.Inode.Punchable},
	}
	f.Inode.FD, f.Inode.Punchable = -1, false
	f.Entry = Entry{}
	return g
}

// Failed wraps the error of a system call for the file.
func (f *File) Failed(call string, err error) error {
	return fmt.Errorf("%s %q: %w", call, f.Entry.Name, err)
}

// Intact reports whether a record still belongs to the content of the file: the bytes before
// the record's end are still the moved bytes, and the freed pages were not written again. Both are
// checked because two logs can easily have the same bytes at the same offset.
func (f *File) Intact(r *Spooled) bool {
	if !f.Held() {
		return true // the content has nothing left but records
	}
	if !f.Inode.Holds(r.End) {
		return false
	}
	from, to := r.Pages()
	if r.Full || from == to {
		return true
	}
	data, err := f.Inode.NextData(from)
	if err != nil || data >= to {
		return err == nil
	}
	return f.Inode.zeroAt(data)
}

// HoldsRecords reports whether all records still belong to the content of the file.
func (f *File) HoldsRecords() bool {
	for i := range f.Records.List {
		if !f.Intact(&f.Records.List[i]) {
			return false
		}
	}
	return true
}

// Changed reports whether the file has changed since it was read.
func (f *File) Changed() bool {
	size, _, err := f.Inode.Stat()
	return err != nil || size != f.Growth.Size || !f.Inode.Holds(f.Read.Position)
}

// unknownGrace is how long a file must have been quiet to be treated as finished if the
// kernel does not show whether it has a writer: only the owner of a file gets a lease.
const unknownGrace = 5 * time.Second

// Writerless reports whether the file has no writer any more.
func (f *File) Writerless(now time.Time) bool {
	switch f.Inode.writers() {
	case writersNone:
		return true
	case writersSome:
		return false
	}
	rotatedAway := f.Entry.Name == "" || f.Stream.Superseded(f)
	return rotatedAway && now.Sub(f.Growth.Grew) > unknownGrace
}

// Front returns where the part of f begins that is neither handed on nor moved, whether that is
// inside a line, and the level there.
func (f *File) Front() (offset int64, open bool, level ul.Level) {
	if r := f.Records.Last(); r != nil && r.End.Offset > f.Read.Offset {
		return r.End.Offset, r.End.Open, r.End.Level
	}
	if f.Read.Open {
		return f.Read.Offset, true, f.Read.OpenLevel
	}
	return f.Read.Offset, false, f.Read.Level
}

// maxWhole is the largest size of a file that is not a log and stays whole. A crash report
// has about 100 KB. A larger file is treated like a log, because it could fill the tmpfs.
const maxWhole = 8 << 20

// Whole reports whether no part of the file may be freed, even under pressure, before the
// whole file is durable and no longer has a writer. A dying JVM does not write its report
// twice, and other programs read the report while it is being written (-XX:OnError).
func (f *File) Whole() bool {
	return naming.KindOf(f.Stream.Name) != naming.KindLog && f.Growth.Size <= maxWhole
}

// SkipLost moves the read position to the next record of a content that its file no longer
// holds. The lines before that record are gone.
func (f *File) SkipLost() {
	if r := f.Records.Next(f.Read.Offset); r != nil && !f.Held() && r.From > f.Read.Offset {
		f.Read.Position = position.Position{Offset: r.From, Level: f.Read.Level}
	}
}
