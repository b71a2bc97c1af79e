package source

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/ship/position"
)

// Table is the state of all source files. Only the Table adds and removes contents. It has
// every content that is in an open file or has lines that are not durable, with the content's file,
// stream and name. It also records the changes that must go into the checkpoint.
type Table struct {
	Streams   Streams
	Files     map[position.Content]*File  // all contents that are in an open file or have lines that are not durable
	Held      map[position.Identity]*File // the contents of open files
	Absent    Absent                      // how far files that are not open were consumed
	Names     Names
	OpenLines *OpenLines

	back map[position.Content]position.Saved // positions that the checkpoint may have forgotten, since the last TakeBack
	gone []position.Content                  // contents that the checkpoint no longer needs, since the last TakeGone

	flowing []*File // the files that flow, see Flow

	Draining bool // this is the last chance to read
}

// Names maps the names in the directory to files.
type Names struct {
	Now   map[string]*File
	spare map[string]*File // the map for the names of the next listing
}

// Begin begins the next listing and returns the names of the previous one. They are valid
// until the next Begin.
func (n *Names) Begin() (was map[string]*File) {
	clear(n.spare)
	n.Now, n.spare = n.spare, n.Now
	return n.spare
}

// New returns a table without files. The rules give the formats of streams.
func New(formats format.Rules) *Table {
	return &Table{
		Streams:   newStreams(formats),
		Files:     map[position.Content]*File{},
		Held:      map[position.Identity]*File{},
		Absent:    newAbsent(),
		Names:     Names{Now: map[string]*File{}, spare: map[string]*File{}},
		OpenLines: newOpenLines(),
		back:      map[position.Content]position.Saved{},
	}
}

// Add adds a content of the named stream. The content does not have a place among the
// others yet. Add reports whether the stream is new.
func (t *Table) Add(f *File, stream string) (fresh bool) {
	f.Stream, fresh = t.Streams.get(stream)
	t.Hold(f)
	t.Streams.join(f)
	return fresh
}

// Rename moves each file that has a name to the stream of that name.
func (t *Table) Rename() {
	for _, f := range t.Files {
		if stream := f.Named(); stream != f.Stream.Name {
			t.Streams.move(f, stream)
		}
	}
}

// Hold adds f to the contents and, if its file holds that content, to the open files.
func (t *Table) Hold(f *File) {
	t.Files[f.Of] = f
	if f.Held() {
		t.Held[f.Of.Identity] = f
	}
}

// Forget closes a file and removes everything about it.
func (t *Table) Forget(f *File) {
	if f.Held() {
		unix.Close(f.Inode.FD)
		f.Inode.FD = -1
		delete(t.Held, f.Of.Identity)
	}
	delete(t.Files, f.Of)
	if f.Entry.Name != "" && t.Names.Now[f.Entry.Name] == f {
		delete(t.Names.Now, f.Entry.Name)
	}
	t.Streams.leave(f)
}

// Finish forgets a content that its file no longer holds.
func (t *Table) Finish(f *File) {
	f.Records.FreeBefore(f.Read.Offset) // these records had nothing to hand on
	t.Forget(f)
	t.LetGo(f.Of)
}

// LetGo records that the checkpoint no longer needs the position of a file, unless that
// position represents an open line.
func (t *Table) LetGo(of position.Content) {
	if !t.OpenLines.isOf(of) {
		t.gone = append(t.gone, of)
	}
}

// ComeBack records that the checkpoint may have forgotten the position of a file.
func (t *Table) ComeBack(f *File) { t.back[f.Of] = f.Saved().Saved }

// Drain records that this is the last chance to read.
func (t *Table) Drain() {
	t.Draining = true
	t.TouchAll()
}

// Touch records that f may have more to read and gives its stream a turn.
func (t *Table) Touch(f *File) { t.Streams.touch(f) }

// TouchAll calls Touch for every file.
func (t *Table) TouchAll() {
	for _, f := range t.Files {
		t.Touch(f)
	}
}

// Flow records that f had data to read.
func (t *Table) Flow(f *File) {
	if !f.Growth.flows {
		f.Growth.flows = true
		t.flowing = append(t.flowing, f)
	}
}

// TouchFlowing touches the files that had data to read since the last call.
func (t *Table) TouchFlowing() {
	for _, f := range t.flowing {
		f.Growth.flows = false
		if f.Held() {
			t.Touch(f)
		}
	}
	clear(t.flowing) // otherwise, it would keep closed files alive
	t.flowing = t.flowing[:0]
}

// Grow records a new size of f.
func (t *Table) Grow(f *File, size int64, now time.Time) {
	f.grow(size, now)
	t.Touch(f)
}

// Renew begins a new content with the bytes that are now in a file. The content is read from its
// beginning, after the rest of the old content.
func (t *Table) Renew(f *File) *File {
	g := f.renewed()
	t.Hold(g)
	if g.Entry.Name != "" {
		t.Names.Now[g.Entry.Name] = g
	}
	t.Streams.follow(f, g)
	t.Touch(g)
	if t.Touch(f); f.CaughtUp() {
		t.Finish(f)
	}
	return g
}

// Rewind returns to the committed position of f. It returns an error if the file no longer
// holds that position; the new content is then read from its beginning.
func (t *Table) Rewind(f *File) error {
	err := f.rewind()
	if err != nil {
		f.Read.Position, f.Queued = f.Committed, f.Committed // nothing was handed on
		t.Renew(f)
	}
	t.Touch(f)
	return err
}

// Commit records that f is durable up to end, the end of the chunk with the given number.
func (t *Table) Commit(f *File, end position.Position, number uint64) {
	f.Committed = end
	f.Records.FreeBefore(end.Offset)
	t.commitOpenLine(f, end, number)
	switch {
	case t.Files[f.Of] != f:
		t.LetGo(f.Of) // the checkpoint has the position again
	case !f.Held() && f.CaughtUp():
		t.Finish(f)
	}
}

// commitOpenLine records how the durable part of the stream ends. The checkpoint has kept
// the position of a deleted file because of its open line, and can forget the position once
// that line has ended.
func (t *Table) commitOpenLine(f *File, end position.Position, number uint64) {
	of, open := t.OpenLines.commit(f, end, number)
	if open && !t.Absent.waits(of.Identity) && t.Files[of] == nil {
		t.LetGo(of)
		t.Absent.Remove(of.Identity)
	}
}

// TakeGone returns the contents that the checkpoint no longer needs, collected since the
// last call.
func (t *Table) TakeGone() (gone []position.Content) {
	gone, t.gone = t.gone, nil
	// The checkpoint needs the position of a file that has since come back.
	return slices.DeleteFunc(gone, func(of position.Content) bool {
		return t.Files[of] != nil || t.Absent.waits(of.Identity) && t.Absent.Saved[of.Identity].Epoch == of.Epoch
	})
}

// TakeBack returns the positions that the checkpoint may have forgotten since the last call:
// the positions of files that were gone and came back.
func (t *Table) TakeBack() map[position.Content]position.Saved {
	for id := range t.Absent.back {
		k := t.Absent.Saved[id]
		t.back[k.Content(id)] = k.Saved
	}
	clear(t.Absent.back)
	if len(t.back) == 0 {
		return nil
	}
	back := t.back
	t.back = map[position.Content]position.Saved{}
	return back
}

// Unname removes the names of all files, because the directory is closed.
func (t *Table) Unname() {
	for name, f := range t.Names.Now {
		f.Entry.Name = ""
		delete(t.Names.Now, name)
	}
}
