package segment

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// FollowsAttr is the extended attribute of a segment that was created after a hole in
// the numbers. It holds the number of the segment before, in decimal.
const FollowsAttr = "user.ullage.follows"

// Follows returns the number of the segment that was written before this one. It is one
// less than Seq, unless the writer created the segment after numbers that it had given
// to segments which were never committed: then an extended attribute of the file holds
// the number. Zero: the segment is the first of its stream. A copy of the file may lack
// the attribute, and anyone who may write the file can change it.
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

// Missing returns an upper bound for the number of committed segments between two that are
// adjacent in a list, if the lines of these segments may be in the window. It is a bound
// because a copied file may lack what [Info.Follows] reads. Retention deletes the oldest
// segments alone, so it leaves none missing. A zero time does not bound the window.
func Missing(before, next Info, since, until time.Time) uint64 {
	// The missing lines were written between the beginnings of the two.
	late := !until.IsZero() && until.Before(before.Start)
	if next.Seq <= before.Seq+1 || late || next.Start.Before(since) {
		return 0
	}
	return max(next.Follows(), before.Seq) - before.Seq
}
