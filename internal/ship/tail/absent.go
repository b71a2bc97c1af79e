package tail

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
)

// absent is what is known of files that are not held: their positions, from a
// checkpoint or from when they were held.
//
// A position waits while its file may still be in the directory: the file has a
// second name, or a name that does not match, or the Source holds as many files
// as it may, or a JVM renamed the file during the scan. A waiting position stays
// in the checkpoint, and its stream counts as unread. A scan that saw the whole
// directory, but not the file, ends the wait. The position stays known in case the
// file comes back, until positions that wait need the room.
type absent struct {
	saved   map[position.Identity]known
	waiting map[position.Identity]struct{}
	sighted map[position.Identity]struct{} // those of saved whose file the current listing has seen
	back    map[position.Identity]struct{} // those of waiting that the checkpoint may have forgotten
	aside   map[position.Identity]aside    // those of waiting that need not be held
}

func newAbsent() absent {
	return absent{
		saved:   map[position.Identity]known{},
		waiting: map[position.Identity]struct{}{},
		sighted: map[position.Identity]struct{}{},
		back:    map[position.Identity]struct{}{},
		aside:   map[position.Identity]aside{},
	}
}

// known is what is known of a file that is not held: how far its newest content
// was consumed.
type known struct {
	position.Saved
	epoch uint32
}

// content returns what a position is of.
func (k known) content(id position.Identity) position.Content {
	return position.Content{Identity: id, Epoch: k.epoch}
}

// An aside is a finished file that keeps its name and was closed, so that
// another one can be held: where files are not unlinked, that is how those
// beyond the descriptors have their turn. It is held again once it changes.
type aside struct{ size, changed int64 }

// full reports whether no more positions can be kept. Those that nothing waits
// for make room.
func (a *absent) full() bool {
	if len(a.saved) >= maxFiles && len(a.saved) > len(a.waiting) {
		maps.DeleteFunc(a.saved, func(id position.Identity, _ known) bool { return !a.waits(id) })
	}
	return len(a.saved) >= maxFiles
}

// await keeps the position of a file that is not held.
func (a *absent) await(id position.Identity, saved known) {
	a.saved[id] = saved
	a.waiting[id] = struct{}{}
}

// waits reports whether the checkpoint has to have the position.
func (a *absent) waits(id position.Identity) bool {
	_, ok := a.waiting[id]
	return ok
}

// remove forgets a file: it is held, or gone.
func (a *absent) remove(id position.Identity) {
	delete(a.saved, id)
	delete(a.waiting, id)
	delete(a.back, id)
	delete(a.aside, id)
}

// sight notes that a file is in the directory, although it is not held.
func (a *absent) sight(id position.Identity) {
	if _, ok := a.saved[id]; !ok {
		return
	}
	a.sighted[id] = struct{}{}
	if !a.waits(id) {
		a.waiting[id] = struct{}{}
		a.back[id] = struct{}{}
	}
}

// positions returns what is known of all files that are not held.
func (a *absent) positions() map[position.Content]position.Saved {
	all := map[position.Content]position.Saved{}
	for id, k := range a.saved {
		all[k.content(id)] = k.Saved
	}
	return all
}

// unseen ends the waits of files that a scan of the whole directory has not
// seen, and returns what was known of them.
func (a *absent) unseen() map[position.Identity]known {
	gone := map[position.Identity]known{}
	for id := range a.waiting {
		if _, ok := a.sighted[id]; !ok {
			delete(a.waiting, id)
			delete(a.back, id)
			delete(a.aside, id)
			gone[id] = a.saved[id]
		}
	}
	return gone
}

// setAside keeps the position of a finished file that keeps its name.
func (a *absent) setAside(id position.Identity, saved known, st *unix.Statx_t) {
	a.await(id, saved)
	a.aside[id] = aside{int64(st.Size), changeTime(st)}
}

// isAside reports whether the file was set aside and is as it was then.
func (a *absent) isAside(id position.Identity, st *unix.Statx_t) bool {
	was, ok := a.aside[id]
	if ok && was != (aside{int64(st.Size), changeTime(st)}) {
		delete(a.aside, id)
		return false
	}
	return ok
}

func changeTime(st *unix.Statx_t) int64 { return st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec) }

// clear forgets everything: the positions of the checkpoint were wrong.
func (a *absent) clear() {
	clear(a.saved)
	clear(a.waiting)
	clear(a.back)
	clear(a.aside)
}
