package tail

import (
	"slices"

	"github.com/ullage/ullage/internal/ul"
)

// share weighs the streams and returns how much memory each of them may have, so
// that all of them together have as much as allowed: an equal part, and more
// where others need less. The memory of streams without lines that can be dropped
// (they are in the queue, or in files that may not be punched) comes off first:
// nobody can give it back, and the JVMs need their headroom all the same.
func (s *Source) share(allowed int64) int64 {
	var sharing []int64
	for _, st := range s.streams.byName {
		st.memory = 0
		for _, f := range st.files {
			memory, _ := f.resident()
			st.memory += memory + f.textMemory()
		}
		if st.oldestUndecided(ul.DropAll) != nil {
			sharing = append(sharing, st.memory)
		} else {
			allowed -= st.memory
		}
	}
	slices.Sort(sharing)
	share := max(0, allowed)
	for i, memory := range sharing {
		share = max(0, allowed) / int64(len(sharing)-i)
		if memory > share {
			break
		}
		allowed -= memory
	}
	return share
}

// largestOver returns the oldest file, with lines that may be dropped, of the
// stream that takes the most memory, more than its share; of refused streams, or
// of the others. Nil: there is none.
func (s *Source) largestOver(share int64, reason ul.Reason, refused bool) (oldest *File) {
	most := share
	for _, st := range s.streams.byName {
		if st.refused != refused || st.memory <= most {
			continue
		}
		if f := st.oldestUndecided(reason); f != nil {
			oldest, most = f, st.memory
		}
	}
	return oldest
}

// oldestUndecided returns the stream's oldest file with lines that may be
// dropped, or nil.
func (st *Stream) oldestUndecided(reason ul.Reason) *File {
	for _, f := range st.files {
		if f.drops != nil && !f.drops.stuck && f.undecided(reason) > 0 {
			return f
		}
	}
	return nil
}
