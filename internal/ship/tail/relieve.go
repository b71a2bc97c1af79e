package tail

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A Relief is a request to free memory of the source.
type Relief struct {
	Want    int64    // bytes of memory to free
	Least   int64    // the smallest number of bytes of a file that is worth a record
	Keep    ul.Level // lines at or above it are kept when lines are discarded
	Allowed int64    // bytes that all streams may have together, see Drop
	Refused bool     // free only memory of refused streams
}

// A Reliever frees the memory of lines that are not durable. Its policy chooses the stream and
// the lines; its caller chooses the time and the amount. A [Source] has one Reliever.
type Reliever struct {
	*env
	dir    *directory
	table  *source.Table
	spool  *spooler
	mover  *mover
	policy policy
}

const (
	// relieveTime bounds the duration of one Move or Drop: reading waits meanwhile.
	relieveTime = 100 * time.Millisecond

	// smallBlock is the size of a block for a record that must fit into the memory that the spool reserves.
	smallBlock = 2 * spool.ReserveBytes
)

// Usage is how many bytes the source and its files occupy.
type Usage struct {
	Backlog  int64 // written and not committed
	Spooled  int64 // the part of Backlog that was moved into the spool
	Total    int64 // size of the file system
	Headroom int64 // free bytes in it
	Tmpfs    bool
}

// Usage asks the kernel how much space is used. While the directory is missing, it sets only Backlog
// and Spooled.
func (r *Reliever) Usage() Usage {
	u := r.space()
	for _, f := range r.table.Files {
		u.Backlog += f.Backlog()
		u.Spooled += f.Records.Bytes - f.Records.Lost
	}
	return u
}

// space returns what the kernel says about the file system.
func (r *Reliever) space() (u Usage) {
	var st unix.Statfs_t
	if r.dir.opened() && unix.Fstatfs(r.dir.fd(), &st) == nil {
		u.Total = int64(st.Blocks) * int64(st.Bsize)
		u.Headroom = int64(st.Bavail) * int64(st.Bsize)
		u.Tmpfs = st.Type == unix.TMPFS_MAGIC
	}
	return u
}

// Weight is how much memory the source takes.
type Weight struct {
	Memory  int64 // of the files and the spool, in bytes
	Spool   int64 // the part of Memory that the spool takes
	Length  int64 // of the JVMs' files, without the sidecar's own marks
	Streams int   // number of streams that take more than a few pages of memory
}

// fewPages is the memory above which [Weight.Streams] includes a stream.
const fewPages = 4 * position.PageSize

// Weigh asks the kernel how much memory the source takes. It also sets the memory of each stream,
// which Move and Drop use.
func (r *Reliever) Weigh() (w Weight) {
	for _, st := range r.table.Streams.ByName {
		st.Memory = 0
		length := int64(0)
		for _, f := range st.Files {
			m, l := f.Inode.Resident()
			w.Memory, length = w.Memory+m, length+l
			if l > f.Growth.Size {
				r.table.Grow(f, l, r.now())
			}
			st.Memory += m + f.Records.Memory()
		}
		for _, f := range st.Found {
			m, l := f.Inode.Resident()
			w.Memory, length = w.Memory+m, length+l
		}
		if st.Name != mark.Stream {
			w.Length += length
		}
		if st.Memory > fewPages {
			w.Streams++
		}
	}
	w.Spool = r.spool.memory()
	w.Memory += w.Spool
	return w
}

// Memory returns the same Memory as Weigh, but does not change anything.
func (r *Reliever) Memory() int64 {
	sum := r.spool.memory()
	for _, st := range r.table.Streams.ByName {
		for _, f := range st.Files {
			m, _ := f.Inode.Resident()
			sum += m
		}
		for _, f := range st.Found {
			m, _ := f.Inode.Resident()
			sum += m
		}
	}
	return sum
}

// Written reports whether the kernel shows that some process has a file open for writing.
func (r *Reliever) Written() bool {
	for _, f := range r.table.Held {
		if f.Inode.Written() {
			return true
		}
	}
	return false
}

// Refusing reports whether any file belongs to a refused stream.
func (r *Reliever) Refusing() bool { return r.table.Streams.RefusedFiles > 0 }

// Move compresses unread lines and moves them into the spool. It begins with the oldest lines
// of the stream that has the most unread lines. It stops when it has freed as much memory as
// wanted, when no block is left that is worth a record, or when it has taken too long. It
// returns how much memory it freed, which is at least 1 if it moved anything.
//
// Lines are lost only if the tmpfs has no room even for the compressed lines. Such lines are dropped at once, whatever
// their level and the stream's share. So a block is not larger than the free memory. If that is less than smallBlock, a
// block has about that size, and Least is half of it or less: if its lines compress to a third, its record fits into the
// memory that the spool reserves.
func (r *Reliever) Move(relief Relief) (freed int64) {
	left := r.recordsLeft()
	for deadline := r.now().Add(relieveTime); freed < relief.Want && left > 0 && r.now().Before(deadline); left-- {
		most := int64(spool.BlockBytes)
		if u := r.space(); u.Total > 0 {
			most = min(most, max(u.Headroom, smallBlock))
		}
		next := relief
		next.Least = min(relief.Least, most/2)
		f := r.toMove(next, 0)
		if f == nil {
			break
		}
		freed += r.mover.relieve(f, load{least: next.Least, most: most, keep: relief.Keep})
	}
	return freed
}

// Drop drops lines until it has freed as much memory as wanted: moved lines
// first, then unmoved ones. [ul.Discard] drops the lines below the level to keep,
// but leaves an unmoved block alone if these lines are less than half of it.
// [ul.DropAll] drops all lines.
//
// A stream that takes less memory than its share loses nothing. Of the other streams, the
// largest one loses lines first, beginning with its oldest lines. Refused streams have no
// share, and lose lines before all others.
func (r *Reliever) Drop(why ul.Reason, relief Relief) (freed int64) {
	left := r.recordsLeft()
	without := spool.WithoutRest()
	if why == ul.DropAll {
		without = spool.WithoutLines()
	}
	share := r.policy.share(relief.Allowed)
	for deadline := r.now().Add(relieveTime); freed < relief.Want && r.now().Before(deadline); {
		n := int64(0)
		if st := r.policy.largestOver(share, why, relief.Refused); st != nil {
			n = r.dropOldest(st, why)
		} else if f := r.toMove(relief, share); f != nil && left > 0 {
			left--
			over := min(max(2*relief.Least, f.Stream.Memory-share), spool.BlockBytes) // a block ends at the end of a message
			n = r.mover.relieve(f, load{least: relief.Least, most: over, keep: relief.Keep, without: without})
		} else {
			break
		}
		freed += n
	}
	return freed
}

// recordsLeft makes every file a candidate again. It returns how many more records may be
// made: a start reads at most [spool.MostRecords].
func (r *Reliever) recordsLeft() int {
	left := spool.MostRecords
	for _, f := range r.table.Files {
		f.Stuck = false
		left -= len(f.Records.List)
	}
	return left
}

// toMove returns the oldest file with a block to move, from the stream that has the most to
// move and takes more memory than share. It returns nil if there is no such file.
func (r *Reliever) toMove(relief Relief, share int64) *source.File {
	if r.spool.log == nil {
		return nil
	}
	return r.policy.largestUnmoved(share, relief.Least, relief.Refused)
}

// dropOldest drops the lines of the stream's oldest record that has any.
func (r *Reliever) dropOldest(st *source.Stream, why ul.Reason) (freed int64) {
	f, at := oldestHolding(st, why)
	record := f.Records.List[at].Record
	freed, dropped, err := f.Records.Drop(&f.Records.List[at], why)
	r.metrics.dropped.addParts(st.Label, record, dropped)
	if err == nil {
		var merged int64
		merged, err = r.mover.mergeAround(f, at)
		freed += merged
	}
	if err != nil {
		r.metrics.readErrors.Inc()
		// messages.md#pressure: The memory of these lines stays in use. The next check of the
		// budget tries again.
		r.log.once("drop", "dropping lines of the spool failed", "error", err, "hint", "the next check of the budget tries again")
		f.Stuck = true
	}
	st.Memory -= freed
	return max(1, freed)
}
