package segment

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// FollowsAttr is the extended attribute of a segment whose number does not directly follow that
// of the previous segment. It holds the number of the previous segment, in decimal.
const FollowsAttr = "user.ullage.follows"

// Follows returns the number of the segment that was written before this one. It is one
// less than Seq, unless the numbers just before Seq belonged to segments that were never
// committed: then an extended attribute of the file holds the number to return. Zero: the segment
// is the first of its stream. A copy of the file may lack the attribute, and anyone who may write
// the file can change it.
func (i Info) Follows() uint64 {
	if i.Seq == 0 {
		return 0
	}
	var text [maxSeqDigits]byte
	n, err := unix.Lgetxattr(i.Path, FollowsAttr, text[:])
	if err != nil {
		return i.Seq - 1
	}
	seq, err := strconv.ParseUint(string(text[:n]), 10, 64)
	if err != nil || seq >= i.Seq {
		return i.Seq - 1
	}
	return seq
}

// Missing returns the largest possible number of committed segments that are missing between
// two neighbours in a list, or 0 if the lines of these segments cannot be in the window. The
// exact number is unknown because a copied file may lack the attribute that [Info.Follows]
// reads. Retention deletes only the oldest segments, never one between two others. A zero time
// does not bound the window.
func Missing(before, next Info, since, until time.Time) uint64 {
	// The missing lines were written between the starts of the two segments.
	late := !until.IsZero() && until.Before(before.Start)
	if next.Seq <= before.Seq+1 || late || next.Start.Before(since) {
		return 0
	}
	return max(next.Follows(), before.Seq) - before.Seq
}
