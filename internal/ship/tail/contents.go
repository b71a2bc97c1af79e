package tail

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/ship/position"
)

// maxFiles is how many source files are held open at once, if as many may be; more wait
// on the tmpfs until others are finished.
const maxFiles = 2048

// contents is all that is known of the source files, and the only owner of
// which of them there are: the contents of which anything is left, in which file
// each one is, in which stream, under which name, and what the checkpoint has to
// learn of that.
type contents struct {
	streams streamSet
	files   map[position.Content]*File  // all contents of which anything is left
	held    map[position.Identity]*File // those of them that are in a file that is open
	absent  absent                      // ... and not
	names   names
	open    *openLines

	back map[position.Content]position.Saved // that the checkpoint may have forgotten; since the last takeBack
	gone []position.Content                  // that the checkpoint need not have; since the last takeGone

	draining bool // there is no later
}

// names is which file has which name in the directory.
type names struct {
	now   map[string]*File
	spare map[string]*File // the map for the names of the next listing
}

// begin begins another listing, and returns the names of the one before. They
// are valid until the next begin.
func (n *names) begin() (was map[string]*File) {
	clear(n.spare)
	n.now, n.spare = n.spare, n.now
	return n.spare
}

func newContents(formats format.Rules) *contents {
	return &contents{
		streams: newStreamSet(formats),
		files:   map[position.Content]*File{},
		held:    map[position.Identity]*File{},
		absent:  newAbsent(),
		names:   names{now: map[string]*File{}, spare: map[string]*File{}},
		open:    newOpenLines(),
		back:    map[position.Content]position.Saved{},
	}
}

// add adds a content of the named stream, which has no place among the others
// yet. It reports whether the stream is a new one.
func (c *contents) add(f *File, stream string) (fresh bool) {
	f.stream, fresh = c.streams.get(stream)
	c.hold(f)
	c.streams.join(f)
	return fresh
}

// hold makes f known, and the content that its file holds now, if it has one.
func (c *contents) hold(f *File) {
	c.files[f.of] = f
	if f.held() {
		c.held[f.of.Identity] = f
	}
}

// forget closes a file and drops all memory of it.
func (c *contents) forget(f *File) {
	if f.held() {
		unix.Close(f.inode.fd)
		f.inode.fd = -1
		delete(c.held, f.of.Identity)
	}
	delete(c.files, f.of)
	if f.name != "" && c.names.now[f.name] == f {
		delete(c.names.now, f.name)
	}
	c.streams.leave(f)
}

// finish forgets a content that its file does not hold any more.
func (c *contents) finish(f *File) {
	f.records.freeBefore(f.read.Offset) // of these there was nothing to hand on
	c.forget(f)
	c.letGo(f.of)
}

// letGo notes that the checkpoint need not have the position of a file any more,
// unless that position stands for an open line.
func (c *contents) letGo(of position.Content) {
	if !c.open.isOf(of) {
		c.gone = append(c.gone, of)
	}
}

// comeBack notes that the checkpoint may have forgotten the position of a file.
func (c *contents) comeBack(f *File) { c.back[f.of] = f.saved().Saved }

// drain notes that there is no later.
func (c *contents) drain() {
	c.draining = true
	c.touchAll()
}

// touch notes that f may have more to read and gives its stream a turn.
func (c *contents) touch(f *File) { c.streams.touch(f) }

// touchAll makes every file worth reading.
func (c *contents) touchAll() {
	for _, f := range c.files {
		c.touch(f)
	}
}

// grow records a new size of f.
func (c *contents) grow(f *File, size int64, now time.Time) {
	f.grow(size, now)
	c.touch(f)
}

// renew takes what is in a file now for another content, to be read from its
// beginning behind what is left of the one before.
func (c *contents) renew(f *File) *File {
	g := f.renewed()
	c.hold(g)
	if g.name != "" {
		c.names.now[g.name] = g
	}
	c.streams.follow(f, g)
	c.touch(g)
	if c.touch(f); f.caughtUp() {
		c.finish(f)
	}
	return g
}

// rewind goes back to what is committed of f. An error says that the file does not hold
// that any more; what is in it now is then read from its beginning.
func (c *contents) rewind(f *File) error {
	err := f.rewind()
	if err != nil {
		f.read.Position, f.queued = f.committed, f.committed // nothing was handed on
		c.renew(f)
	}
	c.touch(f)
	return err
}

// commit records that f is durable up to end, which is that of the chunk with a number.
func (c *contents) commit(f *File, end position.Position, number uint64) {
	f.committed = end
	f.records.freeBefore(end.Offset)
	c.commitOpenLine(f, end, number)
	switch {
	case c.files[f.of] != f:
		c.letGo(f.of) // the checkpoint has it again
	case !f.held() && f.caughtUp():
		c.finish(f)
	}
}

// commitOpenLine notes how the durable part of the stream ends. The checkpoint
// kept the position of a file that is gone for the sake of its open line: it
// need not once that line has ended.
func (c *contents) commitOpenLine(f *File, end position.Position, number uint64) {
	of, open := c.open.commit(f, end, number)
	if open && !c.absent.waits(of.Identity) && c.files[of] == nil {
		c.letGo(of)
		c.absent.remove(of.Identity)
	}
}

// takeGone returns the contents that the checkpoint need not have any more, since
// the last call.
func (c *contents) takeGone() (gone []position.Content) {
	gone, c.gone = c.gone, nil
	// The checkpoint needs the position of a file that came back meanwhile.
	return slices.DeleteFunc(gone, func(of position.Content) bool {
		return c.files[of] != nil || c.absent.waits(of.Identity) && c.absent.saved[of.Identity].epoch == of.Epoch
	})
}

// takeBack returns what the checkpoint may have forgotten, since the last call:
// the positions of files that were gone, and came back.
func (c *contents) takeBack() map[position.Content]position.Saved {
	for id := range c.absent.back {
		k := c.absent.saved[id]
		c.back[k.content(id)] = k.Saved
	}
	clear(c.absent.back)
	if len(c.back) == 0 {
		return nil
	}
	back := c.back
	c.back = map[position.Content]position.Saved{}
	return back
}

// unname takes the names from all files: the directory is closed.
func (c *contents) unname() {
	for name, f := range c.names.now {
		f.name = ""
		delete(c.names.now, name)
	}
}
