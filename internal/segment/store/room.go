package store

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

const (
	fewestInodes  = 64   // segments may take this many, however small their share is
	reserveInodes = 4096 // the reserve has at most this many

	// reserveBytes is the least size of the reserve on a volume that is large enough. A commit may
	// always append a quarter of the reserve, which is then at least a frame.
	reserveBytes = 4 * segment.FrameBytes
)

// room is how much of the volume segments may take, as of the last look at the file
// system. It only calculates; retention asks the file system.
//
// The bound follows from RetainBytes: that many bytes, and the same share of the inodes as
// RetainBytes is of the file system's bytes. If less than the reserve is free, because other
// programs use the space or RetainBytes exceeds the size of the file system, segments may take
// no more than before. Once a call has found no space, segments are deleted until the reserve
// is free. The zero value has not looked yet.
type room struct {
	looked bool
	full   bool // a call found no space since the last look
	low    bool // at the last look, less than the reserve was free
	taken  use  // the use that segments were meant to have after the last look
	step   use  // how much the use may grow before the next look
	bound  use
	limit  use   // the bound, or less
	size   use   // of the file system; zero: unknown
	commit use   // what one commit may create
	reach  int64 // the bytes that segments could take if other programs take no more
}

// stale reports whether it is time for another look.
func (r *room) stale(used use) bool {
	return !r.looked || r.full || r.low || used.minus(r.taken).over(r.step)
}

// measure sets all fields from the file system's answer and the present use of segments.
func (r *room) measure(st unix.Statfs_t, retain, size int64, used use) {
	// Blocks that are reserved for root are not used, even if this process runs as root.
	r.size = use{bytes: (int64(st.Blocks) - int64(st.Bfree) + int64(st.Bavail)) * int64(st.Frsize), inodes: int64(st.Files)}
	free := use{bytes: int64(st.Bavail) * int64(st.Frsize), inodes: int64(st.Ffree)}
	reserve := use{bytes: min(max(size, reserveBytes), r.size.bytes/8), inodes: min(reserveInodes, r.size.inodes/8)}
	r.bound, r.reach = use{bytes: retain, inodes: r.size.inodes}, retain
	if r.size.bytes > 0 {
		r.reach = min(retain, used.bytes+free.bytes)
	}
	if retain < r.size.bytes {
		r.bound.inodes = max(fewestInodes, int64(float64(r.size.inodes)*float64(retain)/float64(r.size.bytes)))
	}
	r.low = r.full || reserve.over(free)
	r.limit = use{
		bytes:  limit(r.bound.bytes, free.bytes, reserve.bytes, used.bytes, r.taken.bytes, r.full),
		inodes: limit(r.bound.inodes, free.inodes, reserve.inodes, used.inodes, r.taken.inodes, r.full),
	}
	r.taken = used
	if r.low {
		r.taken = use{bytes: min(used.bytes, r.limit.bytes), inodes: min(used.inodes, r.limit.inodes)}
	}
	r.step = use{bytes: reserve.bytes / 4, inodes: reserve.inodes / 4}
	r.commit = use{bytes: max(reserve.bytes/4, min(free.bytes, r.reach)/16), inodes: reserve.inodes / 2}
	r.looked, r.full = true, false
}

// limit bounds the use of bytes, or of inodes. taken is the use that segments were meant to
// have after the previous look.
func limit(bound, free, reserve, used, taken int64, full bool) int64 {
	switch {
	case full: // at least one segment must be deleted
		return min(bound, used-max(1, reserve-free))
	case free < reserve:
		return min(bound, max(taken, 0))
	}
	return bound
}

// exceeded returns the bound that the use exceeds, or "".
func (r *room) exceeded(used use) string {
	switch {
	case !r.looked:
		return ""
	case r.size.inodes > 0 && used.inodes > r.bound.inodes:
		return reasonInodes
	case used.bytes > r.limit.bytes, r.size.inodes > 0 && used.inodes > r.limit.inodes:
		return reasonFull
	}
	return ""
}

// ahead does what [Store.Ahead] documents.
func (r *room) ahead() (streams int, bytes int64) {
	bytes = math.MaxInt64
	most := int64(math.MaxInt32)
	if r.looked && r.size.bytes > 0 {
		bytes = r.commit.bytes
		most = min(most, r.commit.bytes/(2*segment.PageBytes)) // a page for the segment and a page for the directory
	}
	if r.looked && r.size.inodes > 0 {
		most = min(most, r.commit.inodes/2)
	}
	return int(max(8, most)), bytes
}
