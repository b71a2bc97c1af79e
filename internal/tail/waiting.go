package tail

import "golang.org/x/sys/unix"

// A saved position waits for its file: the file may have no name that matches
// just now, or a second one, or more files are there than can be held. Until a
// scan that saw everything has not seen the file, its position stays in the
// checkpoint, and its stream counts as one of which there is more to read.

// await saves a position for the time when the file is found.
func (s *Source) await(id Identity, saved Saved) {
	s.saved[id] = saved
	s.waiting[id] = struct{}{}
}

// sight looks at an entry of the directory that is not followed, whether it is
// a file that a position waits for.
func (s *Source) sight(name string) {
	var st unix.Statx_t
	if len(s.saved) == 0 || name == StateDir {
		return
	}
	switch err := statx(int(s.dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, &st); err {
	case nil:
		s.sightFile(identity(&st))
	case unix.ENOENT:
		s.stale = true // it may have another name by now
	}
}

// sightFile notes that a file is in the directory which is not held.
func (s *Source) sightFile(id Identity) {
	if _, ok := s.saved[id]; ok {
		s.sighted[id] = struct{}{}
		s.waiting[id] = struct{}{}
	}
}

// sawAll ends a scan during which the directory did not change. What later
// scans find is new, and a file that was not seen is gone. Should it come back
// all the same while this process lives, it is read from its saved position.
func (s *Source) sawAll() {
	s.unaligned = false
	for id := range s.waiting {
		if _, ok := s.sighted[id]; ok {
			continue
		}
		delete(s.waiting, id)
		s.gone = append(s.gone, id)
		saved := s.saved[id]
		if gaps, orphan, _ := decodeGaps(saved.Gaps, saved.Position, mostGaps); len(gaps) > 0 || orphan.Total() > 0 {
			s.log.Error("a source file with dropped lines is gone: they are counted, and have no marker in the stream", "stream", saved.Stream)
		}
	}
}
