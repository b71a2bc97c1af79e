package segment

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

const (
	fewestInodes  = 64   // that retention leaves to segments, however small their share is
	reserveInodes = 4096 // at most, see room
)

// room is what segments may take, as of the last look at the file system.
//
// The bound follows from RetainBytes: so many bytes, and of the inodes the share
// that these bytes are of the file system. Where less than a reserve is free,
// since others take it or RetainBytes is more than the file system has, segments
// may take no more than before; and after a call that found no space they give
// way until the reserve is free. The zero value has not looked yet.
type room struct {
	looked bool
	full   bool // a call found no space since
	low    bool // less than the reserve was free
	taken  use  // what segments were to take then
	step   use  // by how much more they may take before the next look
	bound  use
	limit  use   // the bound, or less
	size   use   // of the file system; zero is unknown
	ahead  use   // what may be created between two calls of Maintain
	reach  int64 // bytes that segments could take at all, as long as others take no more
}

// noteFull records an error that reports a lack of space.
func (s *Store) noteFull(err error) {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		s.room.full = true
	}
}

// look finds out what segments may take. As long as they grow little, and there
// was enough the last time, it does nothing.
func (s *Store) look() error {
	r, used := &s.room, s.used()
	if s.cfg.RetainBytes == 0 || r.looked && !r.full && !r.low && !used.minus(r.taken).over(r.step) {
		return nil
	}
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(int(s.root.Fd()), &st) }); err != nil {
		return fmt.Errorf("inspect the file system: %w", err)
	}
	if !r.looked {
		r.taken = used
	}
	r.measure(st, int64(s.cfg.RetainBytes), int64(s.cfg.SegmentBytes), used)
	return nil
}

// measure sets everything from what the file system says and what segments use.
func (r *room) measure(st unix.Statfs_t, retain, segment int64, used use) {
	// What is reserved for root is not for us, whoever we are.
	r.size = use{bytes: (int64(st.Blocks) - int64(st.Bfree) + int64(st.Bavail)) * st.Frsize, inodes: int64(st.Files)}
	free := use{bytes: int64(st.Bavail) * st.Frsize, inodes: int64(st.Ffree)}
	reserve := use{bytes: min(segment, r.size.bytes/8), inodes: min(reserveInodes, r.size.inodes/8)}
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
	r.ahead = use{bytes: max(reserve.bytes/2, min(free.bytes, r.reach)/16), inodes: reserve.inodes / 2}
	r.looked, r.full = true, false
}

// limit bounds the use of bytes, or inodes. taken is what segments were to take
// at the look before.
func limit(bound, free, reserve, used, taken int64, full bool) int64 {
	switch {
	case full: // at least one segment goes
		return min(bound, used-max(1, reserve-free))
	case free < reserve:
		return min(bound, max(taken, 0))
	}
	return bound
}

// exceeded returns why segments that take so much must give way, or "".
func (s *Store) exceeded(used use) string {
	r := &s.room
	switch {
	case s.cfg.RetainBytes == 0:
		return ""
	case used.bytes > int64(s.cfg.RetainBytes):
		return reasonBytes
	case !r.looked:
		return ""
	case r.size.inodes > 0 && used.inodes > r.bound.inodes:
		return reasonInodes
	case used.bytes > r.limit.bytes, r.size.inodes > 0 && used.inodes > r.limit.inodes:
		return reasonFull
	}
	return ""
}

// Ahead returns for how many streams a segment may be created between two calls
// of Maintain. All of them together take less than half of the reserve, so that
// a commit never runs into the end of the file system; or, where more room is
// left, a sixteenth of it and of what retention keeps. Segments may be much
// smaller than that room, and the reserve with them: a bound by the reserve
// alone would make a commit, with its syncs, of every few streams.
func (s *Store) Ahead() int {
	r := &s.room
	most := int64(math.MaxInt32)
	if r.looked && r.size.bytes > 0 {
		most = min(most, r.ahead.bytes/(2*pageBytes)) // a page, and one for the directory
	}
	if r.looked && r.size.inodes > 0 {
		most = min(most, r.ahead.inodes/2)
	}
	return int(max(8, most))
}

// share says at which size segments are sealed: at SegmentBytes, or earlier, so
// that what may not be deleted, the newest segments of so many streams, is at
// most a quarter of what retention keeps, and there is something else to delete.
func (s *Store) share() int64 {
	size, growing := int64(s.cfg.SegmentBytes), int64(0)
	for _, t := range s.streams {
		if t.placed && t.seg.Name != "" && !t.mark.Sealed {
			growing++
		}
	}
	if r := &s.room; r.looked && growing > 0 {
		size = min(size, max(int64(minSegment), r.reach/4/growing))
	}
	return size
}
