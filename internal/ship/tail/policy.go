package tail

import (
	"slices"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A policy chooses the stream whose memory is freed, according to the memory of each
// stream. It also chooses the stream's oldest lines that may be moved or dropped.
type policy struct{ streams *source.Streams }

// share returns how much memory each stream may have, so that all streams together stay
// within allowed: an equal part, and more if other streams need less. The memory of streams
// that cannot free any (their lines are in the queue, or in files that may not be punched)
// is subtracted first, since the JVMs still need their headroom.
func (p policy) share(allowed int64) int64 {
	var sharing []int64
	for _, st := range p.streams.ByName {
		if relievable(st) {
			sharing = append(sharing, st.Memory)
		} else {
			allowed -= st.Memory
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
func relievable(st *source.Stream) bool {
	if f, _ := oldestHolding(st, ul.DropAll); f != nil {
		return true
	}
	for _, f := range st.Files {
		if unmoved(f) > 0 {
			return true
		}
	}
	return false
}

// largestOver returns a stream that has moved lines to drop and takes more memory than its
// share. Of several such streams, it returns the largest. Refused streams come first. It
// returns nil if there is no such stream.
func (p policy) largestOver(share int64, why ul.Reason, refusedOnly bool) (largest *source.Stream) {
	for _, st := range p.streams.ByName {
		switch {
		case !st.Refused && (refusedOnly || st.Memory <= share):
			continue
		case largest != nil && (largest.Refused && !st.Refused || largest.Refused == st.Refused && largest.Memory >= st.Memory):
			continue
		}
		if f, _ := oldestHolding(st, why); f != nil {
			largest = st
		}
	}
	return largest
}

// oldestHolding returns the file and the index of the stream's oldest record with lines that may
// be dropped for the reason, or nil. It skips records that were handed on.
func oldestHolding(st *source.Stream, why ul.Reason) (*source.File, int) {
	for _, f := range st.Files {
		if f.Stuck || f.Unaligned {
			continue
		}
		for at := f.Records.At(f.Read.Offset); at < len(f.Records.List); at++ {
			if r := &f.Records.List[at]; r.Holds(spool.Rest) || why == ul.DropAll && r.Holds(spool.Kept) {
				return f, at
			}
		}
	}
	return nil, 0
}

// largestUnmoved returns the oldest file with at least least bytes to move, from the stream
// that has the most to move and takes more memory than its share. Refused streams have no
// share. It returns nil if there is no such file.
func (p policy) largestUnmoved(share, least int64, refusedOnly bool) (oldest *source.File) {
	most := int64(0)
	for _, st := range p.streams.ByName {
		if refusedOnly && !st.Refused || st.Memory <= share && !st.Refused {
			continue
		}
		var first *source.File
		sum := int64(0)
		for _, f := range st.Files {
			if n := unmoved(f); n >= least {
				sum += n
				if first == nil {
					first = f
				}
			}
		}
		if sum > most {
			oldest, most = first, sum
		}
	}
	return oldest
}

// unmoved returns how many bytes of f could be moved.
func unmoved(f *source.File) int64 {
	if !f.Inode.Punchable || f.Whole() || f.Unaligned || f.Stuck {
		return 0
	}
	from, _, _ := f.Front()
	return max(0, f.Growth.Size-from)
}
