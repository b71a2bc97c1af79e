package tail

// Refuse sets the streams that the destination refuses. Nothing of them is handed on:
// what was handed on and is not committed counts as unread again, stays where
// it is, and can be dropped. A stream that is not named any more is read from
// its committed positions, after the Rewind that has to follow.
//
// Files of refused streams may take half of the descriptors. The others are
// closed, and wait like files beyond the number that may be held.
func (s *Source) Refuse(names map[string]struct{}) {
	s.streams.refused, s.streams.refusedFiles = names, 0
	for _, st := range s.streams.byName {
		was := st.refused
		_, st.refused = names[st.name]
		if st.refused {
			s.streams.refusedFiles += len(st.files) + len(st.found)
		}
		if st.refused && !was {
			for _, f := range st.files {
				s.rewind(f)
			}
		}
	}
	for _, f := range s.held {
		if s.streams.refusedFiles <= s.maxHeld/2 {
			return
		}
		s.release(f)
	}
}

// Refusing reports whether any file is of a refused stream.
func (s *Source) Refusing() bool { return s.streams.refusedFiles > 0 }

// Refused returns the refused streams that have files.
func (s *Source) Refused() map[string]struct{} {
	var names map[string]struct{}
	for name := range s.streams.refused {
		if s.streams.byName[name] == nil {
			continue
		}
		if names == nil {
			names = map[string]struct{}{}
		}
		names[name] = struct{}{}
	}
	return names
}

// tooMany reports whether a file of that name has to wait for a descriptor.
func (s *Source) tooMany(name string) bool {
	if len(s.held) >= s.maxHeld {
		return true
	}
	_, refused := s.streams.refused[StreamName(name)]
	return refused && s.streams.refusedFiles >= s.maxHeld/2
}

// release closes a file of a refused stream that the next scan will find again,
// and remembers its position. A file without a name would be lost, and records
// are not taken in a second time.
func (s *Source) release(f *File) {
	if !f.stream.refused || f.name == "" || !f.records.empty() {
		return
	}
	if !s.absent.full() {
		s.absent.await(f.of.Identity, savedOf(f)) // also of nothing: the checkpoint may have met the file
	} else if f.committed.Offset > 0 || f.of.Epoch > 0 {
		return
	}
	s.listing.stale = true
	s.listing.ignored[IgnoredTooMany]++
	s.forget(f)
}
