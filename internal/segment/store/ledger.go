package store

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// windowSegments is how many segments the ledger holds: the next ones to delete.
const windowSegments = 4096

// use is an amount of space on a file system: how much something takes, or how much there is.
type use struct{ bytes, inodes int64 }

func (u use) plus(v use) use  { return use{u.bytes + v.bytes, u.inodes + v.inodes} }
func (u use) minus(v use) use { return use{u.bytes - v.bytes, u.inodes - v.inodes} }

// over reports whether u is more than v in bytes or in inodes.
func (u use) over(v use) bool { return u.bytes > v.bytes || u.inodes > v.inodes }

// directory is what the directory of a stream takes. The blocks of a directory after its first
// are not counted: they are a hundredth of its segments' blocks.
var directory = use{bytes: segment.PageBytes, inodes: 1}

// entry is a segment that retention may delete. Its times are in milliseconds.
type entry struct {
	stream string
	seq    uint64
	start  int64 // Unix time, as in the name
	since  int64 // Unix time: start, or the start of a later segment of the stream if that is earlier
	order  int64 // since, on the clock of the ledger
	wrote  int64 // the last write to this segment, or to a later one if that write is earlier, on the ledger's clock
	size   int64
	disk   int64
	how    segment.Compression
}

// endOfTime is later than every segment.
var endOfTime = entry{since: math.MaxInt64, order: math.MaxInt64, wrote: math.MaxInt64}

func (e entry) name() string { return segment.FileName(time.UnixMilli(e.start), e.seq, e.how) }

func (e entry) use() use { return use{bytes: e.disk, inodes: 1} }

func (e entry) info() segment.Info {
	return segment.Info{Stream: e.stream, Name: e.name(), Seq: e.seq, Size: e.size, Disk: e.disk}
}

// notAfter lowers the times of e to those of a later segment of the stream if the latter are
// earlier: then the clock was ahead when e was written.
func (e *entry) notAfter(later entry) {
	e.since, e.order, e.wrote = min(e.since, later.since), min(e.order, later.order), min(e.wrote, later.wrote)
}

func compareEntry(a, b entry) int {
	return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.since, b.since),
		cmp.Compare(a.seq, b.seq), strings.Compare(a.stream, b.stream))
}

// ledger records the segments on disk, so that there is no need to look at the disk. It leaves
// out the segments that a placed stream itself holds: the newest one, and the previous one
// until the newest is synced. Streams report which segments they seal, cut and delete.
// Retention scans the disk and replaces the ledger when it is not fresh.
type ledger struct {
	began time.Time     // when the clock of the ledger began
	idle  time.Duration // the time between the last commit and began, by the system clock

	fresh  bool    // false: the disk must be scanned
	oldest []entry // the segments that can be deleted, in order: all of them or the first ones
	all    bool    // oldest has all of them
	count  int     // segments, including those beyond the window
	size   int64   // the bytes of these segments
	disk   int64   // the space that these segments take on the disk
	dirs   int64   // directories of streams, all of them
	hints  use     // hint files of the streams that are not open
}

// newLedger returns the ledger of a process that begins now. last is the time of the
// destination's last commit; zero: unknown.
func newLedger(now, last time.Time) *ledger {
	l := &ledger{began: now}
	if !last.IsZero() {
		l.idle = max(0, now.Sub(last))
	}
	return l
}

// clock places a moment on the clock of the ledger, which counts milliseconds since Open and
// never steps. A moment in the future becomes now, because the system clock was ahead when the
// moment was recorded. So a step of the system clock changes neither the order nor the age of
// known segments.
//
// For a moment that only the file system knows, the ledger computes the age twice: by the
// system clock, and by the time that this clock would show if it had not been set since Open.
// It uses the smaller age. The time before Open in which nothing was committed makes no segment
// older, because it cannot be distinguished from a step of the system clock. So even if the
// clock is far ahead, retention deletes only segments that were already too old at the last
// commit. At worst, segments are kept longer, by the time without a sidecar.
func (l *ledger) clock(at, now time.Time) int64 {
	since := now.Sub(l.began)
	return (since - l.age(at, now, since)).Milliseconds()
}

// age returns the age of a moment. since is the time that has passed since Open.
func (l *ledger) age(at, now time.Time, since time.Duration) time.Duration {
	age := max(0, min(now.Sub(at), l.began.Add(since).Sub(at)))
	if age > since {
		age = max(since, age-l.idle)
	}
	return age
}

func (l *ledger) entryOf(info segment.Info, now time.Time) entry {
	return entry{stream: info.Stream, seq: info.Seq, start: info.Start.UnixMilli(), since: info.Start.UnixMilli(),
		order: l.clock(info.Start, now), wrote: l.clock(info.ModTime, now), size: info.Size, disk: info.Disk, how: info.Compress}
}

// forget makes the next Maintain scan the disk.
func (l *ledger) forget() { l.fresh = false }

// sealed enters a segment that no mark needs any more. The argument later is the segment in
// which its stream continues.
func (l *ledger) sealed(seg, later segment.Info) {
	now := time.Now()
	l.enter(l.entryOf(seg, now), l.entryOf(later, now))
}

// ended enters the newest segment of a stream that was closed.
func (l *ledger) ended(seg segment.Info) { l.enter(l.entryOf(seg, time.Now()), endOfTime) }

// enter adds e. The argument later is the entry that follows e in its stream. If the window is
// incomplete, enter only counts e, and the next scan finds it.
func (l *ledger) enter(e, later entry) {
	if !l.fresh {
		return
	}
	l.plus(e)
	if !l.all {
		return
	}
	e.notAfter(later)
	stepped := false
	for i := range l.oldest {
		if before := &l.oldest[i]; before.stream == e.stream && before.seq < e.seq && compareEntry(*before, e) > 0 {
			before.notAfter(e)
			stepped = true
		}
	}
	if stepped {
		slices.SortFunc(l.oldest, compareEntry)
	}
	at, _ := slices.BinarySearchFunc(l.oldest, e, compareEntry)
	l.oldest = slices.Insert(l.oldest, at, e)
	l.trim()
}

// remove removes a segment that was deleted, or that its stream now holds.
func (l *ledger) remove(info segment.Info) {
	if !l.fresh {
		return
	}
	l.minus(entry{size: info.Size, disk: info.Disk})
	l.oldest = slices.DeleteFunc(l.oldest, func(e entry) bool { return e.seq == info.Seq && e.stream == info.Stream })
}

// plus counts a segment.
func (l *ledger) plus(e entry) {
	l.count++
	l.size += e.size
	l.disk += e.disk
}

// minus undoes plus.
func (l *ledger) minus(e entry) {
	l.count--
	l.size -= e.size
	l.disk -= e.disk
}

// restore puts back entries whose segments were taken from the window but not deleted.
func (l *ledger) restore(entries []entry) {
	l.oldest = append(l.oldest, entries...)
	slices.SortFunc(l.oldest, compareEntry)
}

// used returns what the segments of the ledger, hint files and the directories of all
// streams take.
func (l *ledger) used() use {
	dirs := max(0, l.dirs)
	return l.hints.plus(use{bytes: l.disk + dirs*directory.bytes, inodes: int64(l.count) + dirs*directory.inodes})
}

// trim bounds the window once it is twice as long as it needs to be.
func (l *ledger) trim() {
	if len(l.oldest) >= 2*windowSegments {
		l.shorten()
	}
}

func (l *ledger) shorten() {
	slices.SortFunc(l.oldest, compareEntry)
	if len(l.oldest) > windowSegments {
		l.oldest = slices.Delete(l.oldest, windowSegments, len(l.oldest))
		l.all = false
	}
}
