package tail

import (
	"slices"

	"github.com/ullage/ullage/internal/spool"
	"github.com/ullage/ullage/internal/ul"
)

// share returns how much memory each stream may have, so that all of them
// together have as much as allowed: an equal part, and more where others need
// less. The memory of streams that can give nothing back (their lines are
// in the queue, or in files that may not be punched) comes off first: the JVMs
// need their headroom all the same.
func (s *Source) share(allowed int64) int64 {
	var sharing []int64
	for _, st := range s.streams.byName {
		if st.relievable() {
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

// relievable reports whether lines of the stream could be dropped.
func (st *Stream) relievable() bool {
	if f, _ := st.oldestHolding(ul.DropAll); f != nil {
		return true
	}
	for _, f := range st.files {
		if f.unmoved() > 0 {
			return true
		}
	}
	return false
}

// largestOver returns the stream with moved lines to drop that takes the most
// memory, more than its share: a refused stream if there is one. Nil: there is
// none.
func (s *Source) largestOver(share int64, why ul.Reason, refusedOnly bool) (largest *Stream) {
	for _, st := range s.streams.byName {
		switch {
		case !st.refused && (refusedOnly || st.memory <= share):
			continue
		case largest != nil && (largest.refused && !st.refused || largest.refused == st.refused && largest.memory >= st.memory):
			continue
		}
		if f, _ := st.oldestHolding(why); f != nil {
			largest = st
		}
	}
	return largest
}

// oldestHolding returns the place of the stream's oldest record with lines that
// may be dropped for a reason, or nil. Records that were handed on are not
// touched any more.
func (st *Stream) oldestHolding(why ul.Reason) (*File, int) {
	for _, f := range st.files {
		if f.stuck || f.unaligned {
			continue
		}
		for at := f.records.at(f.read.Offset); at < len(f.records.list); at++ {
			if r := &f.records.list[at]; r.Holds(spool.Rest) || why == ul.DropAll && r.Holds(spool.Kept) {
				return f, at
			}
		}
	}
	return nil, 0
}
