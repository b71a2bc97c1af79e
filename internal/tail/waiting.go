package tail

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/statedir"
)

// A saved position waits while its file may still be in the directory without
// being held: the file has a second name, or a name that does not match, or the
// Source holds as many files as it may, or a JVM renamed the file during the
// scan. A waiting position stays in the checkpoint, and its stream counts as
// unread. A scan that saw the whole directory, but not the file, ends the wait.

// await keeps the position of a file that is not held.
func (s *Source) await(id position.Identity, saved Saved) {
	s.saved[id] = saved
	s.waiting[id] = struct{}{}
}

// sight finds out whether an entry that the scan does not follow is a file with
// a saved position.
func (s *Source) sight(name string) {
	var st unix.Statx_t
	if len(s.saved) == 0 || name == statedir.Name {
		return
	}
	switch err := statx(int(s.dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, &st); err {
	case nil:
		s.sightFile(position.Identify(&st))
	case unix.ENOENT:
		s.stale = true // somebody may have renamed it during the scan
	}
}

// sightFile notes that a file is in the directory, although it is not held.
func (s *Source) sightFile(id position.Identity) {
	if _, ok := s.saved[id]; ok {
		s.sighted[id] = struct{}{}
		s.waiting[id] = struct{}{}
	}
}

// sawAll ends a scan during which the directory did not change: whatever later
// scans find is new, and a file that this one did not see is gone. s.saved keeps
// its position for as long as this process lives, in case the file comes back.
func (s *Source) sawAll() {
	s.unaligned = false
	for id := range s.waiting {
		if _, ok := s.sighted[id]; ok {
			continue
		}
		delete(s.waiting, id)
		s.letGo(id)
		saved := s.saved[id]
		if gaps, orphan, _ := decodeGaps(saved.Gaps, saved.Position, mostGaps); len(gaps) > 0 || orphan.Total() > 0 {
			s.log.Error("source file with dropped lines is gone", "stream", saved.Stream,
				"hint", "the lines are counted; no gap marker will be written for them")
		}
	}
}
