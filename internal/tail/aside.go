package tail

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
)

// An aside is a finished file that keeps its name and was let go of, so that
// another one can be held: where files are not unlinked, that is how those
// beyond the descriptors have their turn. Its position is in Source.saved, and
// in the checkpoint. It is held again once it changes.
type aside struct {
	size, changed int64
	pass          int // the last listing that had it
}

// setAside lets go of a finished file that keeps its name. Without room to
// remember it, the file stays held: otherwise it would be read again.
func (s *Source) setAside(f *File) {
	var st unix.Statx_t
	if len(s.saved) >= maxFiles || statx(f.fd, "", unix.AT_EMPTY_PATH, &st) != nil || int64(st.Size) != f.size {
		return
	}
	s.await(f.id, Saved{Stream: f.stream.name, Position: f.committed})
	s.aside[f.id] = &aside{int64(st.Size), changeTime(&st), s.pass}
	s.forget(f)
	s.stale = true
}

// isAside reports whether the file was set aside and is as it was then.
func (s *Source) isAside(id position.Identity, st *unix.Statx_t) bool {
	a := s.aside[id]
	if a == nil {
		return false
	}
	if a.size != int64(st.Size) || a.changed != changeTime(st) {
		delete(s.aside, id)
		return false
	}
	a.pass = s.pass
	return true
}

func changeTime(st *unix.Statx_t) int64 { return st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec) }

// forgetAsides forgets the files set aside that the last listing did not have:
// somebody has deleted them.
func (s *Source) forgetAsides() {
	for id, a := range s.aside {
		if a.pass != s.pass {
			delete(s.aside, id)
			delete(s.saved, id)
			delete(s.waiting, id)
			s.letGo(id)
		}
	}
}
