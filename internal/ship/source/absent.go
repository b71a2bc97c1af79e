package source

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
)

// MaxFiles is how many source files are held open at once if the descriptors allow that
// many. Further files wait on the tmpfs until others are finished.
const MaxFiles = 2048

// Absent keeps the positions of files that are not held. The positions were in a checkpoint, or
// date from the time when the files were held.
//
// A position waits while its file may still be in the directory: the file has a second name, or
// a name that does not match, or the Source already holds as many files as it may, or a JVM
// renamed the file during the scan. A waiting position stays in the checkpoint, and its stream
// is treated as unread. The wait ends with a scan of the whole directory that does not find the
// file. The position is then still kept in case the file comes back, until waiting positions
// need the room.
type Absent struct {
	Saved   map[position.Identity]Known
	Waiting map[position.Identity]struct{}
	Sighted map[position.Identity]struct{} // the part of Saved whose files the current listing has seen
	back    map[position.Identity]struct{} // the part of Waiting that the checkpoint may have forgotten
	Aside   map[position.Identity]aside    // the part of Waiting whose files need not be held
}

func newAbsent() Absent {
	return Absent{
		Saved:   map[position.Identity]Known{},
		Waiting: map[position.Identity]struct{}{},
		Sighted: map[position.Identity]struct{}{},
		back:    map[position.Identity]struct{}{},
		Aside:   map[position.Identity]aside{},
	}
}

// An aside is a finished file that keeps its name and was closed so that another file can be
// held. If files are not unlinked, this is how files beyond the number of descriptors get their
// turn. The file is held again once it changes.
type aside struct{ size, changed int64 }

// Full reports whether no more positions can be kept. Positions that do not wait for
// their file make room.
func (a *Absent) Full() bool {
	if len(a.Saved) >= MaxFiles && len(a.Saved) > len(a.Waiting) {
		maps.DeleteFunc(a.Saved, func(id position.Identity, _ Known) bool { return !a.waits(id) })
	}
	return len(a.Saved) >= MaxFiles
}

// Await keeps the position of a file that is not held.
func (a *Absent) Await(id position.Identity, saved Known) {
	a.Saved[id] = saved
	a.Waiting[id] = struct{}{}
}

// waits reports whether the checkpoint must keep the position.
func (a *Absent) waits(id position.Identity) bool {
	_, ok := a.Waiting[id]
	return ok
}

// Remove forgets the position of a file, which is held or gone.
func (a *Absent) Remove(id position.Identity) {
	delete(a.Saved, id)
	delete(a.Waiting, id)
	delete(a.back, id)
	delete(a.Aside, id)
}

// Sight records that a file is in the directory although it is not held.
func (a *Absent) Sight(id position.Identity) {
	if _, ok := a.Saved[id]; !ok {
		return
	}
	a.Sighted[id] = struct{}{}
	if !a.waits(id) {
		a.Waiting[id] = struct{}{}
		a.back[id] = struct{}{}
	}
}

// Positions returns the positions of all files that are not held.
func (a *Absent) Positions() map[position.Content]position.Saved {
	all := map[position.Content]position.Saved{}
	for id, k := range a.Saved {
		all[k.Content(id)] = k.Saved
	}
	return all
}

// Unseen ends the waits of files that a scan of the whole directory has not
// seen and returns their positions.
func (a *Absent) Unseen() map[position.Identity]Known {
	gone := map[position.Identity]Known{}
	for id := range a.Waiting {
		if _, ok := a.Sighted[id]; !ok {
			delete(a.Waiting, id)
			delete(a.back, id)
			delete(a.Aside, id)
			gone[id] = a.Saved[id]
		}
	}
	return gone
}

// SetAside keeps the position of a finished file that keeps its name.
func (a *Absent) SetAside(id position.Identity, saved Known, st *unix.Statx_t) {
	a.Await(id, saved)
	a.Aside[id] = aside{int64(st.Size), changeTime(st)}
}

// IsAside reports whether the file was set aside and has not changed since.
func (a *Absent) IsAside(id position.Identity, st *unix.Statx_t) bool {
	was, ok := a.Aside[id]
	if ok && was != (aside{int64(st.Size), changeTime(st)}) {
		delete(a.Aside, id)
		return false
	}
	return ok
}

func changeTime(st *unix.Statx_t) int64 { return st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec) }

// Clear forgets everything, because the positions of the checkpoint were wrong.
func (a *Absent) Clear() {
	clear(a.Saved)
	clear(a.Waiting)
	clear(a.back)
	clear(a.Aside)
}
