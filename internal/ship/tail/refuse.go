package tail

import (
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship/source"
)

// Capacity bounds how many files are held open, and how many of these may belong to streams
// that the destination refuses.
type Capacity struct {
	*env
	maxHeld int // files open at once
	table   *source.Table
	listing *listing
	changes *truncations
}

// Refuse sets the streams that the destination refuses. No line of them is handed on.
// Uncommitted lines that were handed on become unread again: they stay in the source and
// can be dropped. A stream that is no longer in names is read from its committed positions,
// after the [Start.Rewind] that must follow.
//
// Files of refused streams may take up to half of the descriptors. Their other files are closed
// and wait, like files beyond the number that may be held.
func (c *Capacity) Refuse(names map[string]error) {
	streams := &c.table.Streams
	for name := range names {
		if _, was := streams.Refused[name]; !was {
			c.listing.hide(name)
		}
	}
	streams.Refused, streams.RefusedFiles = names, 0
	for _, st := range streams.ByName {
		was := st.Refused
		_, st.Refused = names[st.Name]
		if st.Refused {
			streams.RefusedFiles += len(st.Files) + len(st.Found)
		}
		if st.Refused && !was {
			for _, f := range st.Files {
				c.changes.rewind(f)
			}
		}
	}
	for _, f := range c.table.Held {
		if streams.RefusedFiles <= c.maxHeld/2 {
			break
		}
		c.release(f)
	}
	c.countFiles(c.table)
}

// tooMany reports whether a file with that name has to wait for a descriptor.
func (c *Capacity) tooMany(name string) bool {
	if len(c.table.Held) >= c.maxHeld {
		return true
	}
	streams := &c.table.Streams
	_, refused := streams.Refused[naming.StreamOf(name)]
	return refused && streams.RefusedFiles >= c.maxHeld/2
}

// release closes a file of a refused stream that the next scan will find again
// and remembers its position. It does not close a file without a name, which would be lost, or a
// file with records, which cannot be adopted a second time.
func (c *Capacity) release(f *source.File) {
	if !f.Stream.Refused || f.Entry.Name == "" || !f.Records.Empty() {
		return
	}
	if absent := &c.table.Absent; !absent.Full() {
		absent.Await(f.Of.Identity, f.Saved()) // even if there is no position, because the checkpoint may know the file
	} else if f.Committed.Offset > 0 || f.Of.Epoch > 0 {
		return
	}
	c.listing.expire()
	c.listing.leaveOut(IgnoredTooMany)
	c.listing.hide(f.Stream.Name)
	c.table.Forget(f)
}

// gone returns the refused streams without files. For such a stream, no file is held, and a
// scan of the whole directory that began after the refusal was known has found no file. A
// stream is not gone while one of its files waits for a descriptor, or a position waits for
// its file.
func (c *Capacity) gone() map[string]struct{} {
	streams, absent := &c.table.Streams, &c.table.Absent
	var gone map[string]struct{}
	for name := range streams.Refused {
		_, hidden := c.listing.hidden[name]
		if streams.ByName[name] != nil || hidden {
			continue
		}
		if gone == nil {
			gone = map[string]struct{}{}
		}
		gone[name] = struct{}{}
	}
	for id := range absent.Waiting {
		delete(gone, absent.Saved[id].Stream)
	}
	return gone
}
