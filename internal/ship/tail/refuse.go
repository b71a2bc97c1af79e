package tail

import "github.com/ullage/ullage/internal/line/naming"

// capacity bounds how many files are held open, and how many of them may be of
// streams that the destination refuses.
type capacity struct {
	*env
	maxHeld  int // files open at once
	contents *contents
	listing  *listing
	changes  *truncations
}

// refuse sets the streams that the destination refuses. Nothing of them is handed on:
// what was handed on and is not committed counts as unread again, stays where
// it is, and can be dropped. A stream that is not named any more is read from
// its committed positions, after the Rewind that has to follow.
//
// Files of refused streams may take half of the descriptors. The others are
// closed, and wait like files beyond the number that may be held.
func (c *capacity) refuse(names map[string]struct{}) {
	streams := &c.contents.streams
	for name := range names {
		if _, was := streams.refused[name]; !was {
			c.listing.hide(name)
		}
	}
	streams.refused, streams.refusedFiles = names, 0
	for _, st := range streams.byName {
		was := st.refused
		_, st.refused = names[st.name]
		if st.refused {
			streams.refusedFiles += len(st.files) + len(st.found)
		}
		if st.refused && !was {
			for _, f := range st.files {
				c.changes.rewind(f)
			}
		}
	}
	for _, f := range c.contents.held {
		if streams.refusedFiles <= c.maxHeld/2 {
			break
		}
		c.release(f)
	}
	c.countFiles(c.contents)
}

// tooMany reports whether a file of that name has to wait for a descriptor.
func (c *capacity) tooMany(name string) bool {
	if len(c.contents.held) >= c.maxHeld {
		return true
	}
	streams := &c.contents.streams
	_, refused := streams.refused[naming.StreamOf(name)]
	return refused && streams.refusedFiles >= c.maxHeld/2
}

// release closes a file of a refused stream that the next scan will find again,
// and remembers its position. A file without a name would be lost, and records
// are not taken in a second time.
func (c *capacity) release(f *File) {
	if !f.stream.refused || f.name == "" || !f.records.empty() {
		return
	}
	if absent := &c.contents.absent; !absent.full() {
		absent.await(f.of.Identity, f.saved()) // also of nothing: the checkpoint may have met the file
	} else if f.committed.Offset > 0 || f.of.Epoch > 0 {
		return
	}
	c.listing.expire()
	c.listing.leaveOut(IgnoredTooMany)
	c.listing.hide(f.stream.name)
	c.contents.forget(f)
}

// gone returns the refused streams that were seen to have no files any more: none is
// held, and a scan of the whole directory that began after the refusal was known has
// found none. A stream is not gone while a file of it waits for a descriptor, or a
// position waits for its file.
func (c *capacity) gone() map[string]struct{} {
	streams, absent := &c.contents.streams, &c.contents.absent
	var gone map[string]struct{}
	for name := range streams.refused {
		_, hidden := c.listing.hidden[name]
		if streams.byName[name] != nil || hidden {
			continue
		}
		if gone == nil {
			gone = map[string]struct{}{}
		}
		gone[name] = struct{}{}
	}
	for id := range absent.waiting {
		delete(gone, absent.saved[id].Stream)
	}
	return gone
}
