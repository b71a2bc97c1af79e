package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"
)

// windowSegments is how many of the next segments to delete are known.
const windowSegments = 4096

// use is what is taken of a file system, or what it has.
type use struct{ bytes, inodes int64 }

func (u use) plus(v use) use  { return use{u.bytes + v.bytes, u.inodes + v.inodes} }
func (u use) minus(v use) use { return use{u.bytes - v.bytes, u.inodes - v.inodes} }

// over reports whether u is more than v in bytes or in inodes.
func (u use) over(v use) bool { return u.bytes > v.bytes || u.inodes > v.inodes }

// directory is what the directory of a stream takes. The blocks that a
// directory gets beyond its first one are a hundredth of its segments' blocks.
var directory = use{bytes: pageBytes, inodes: 1}

// entry is a segment that retention may delete. Its times are in milliseconds.
type entry struct {
	stream string
	seq    uint64
	start  int64 // Unix time, as in the name
	since  int64 // Unix time: start, or that of a later segment of the stream which has an earlier one
	order  int64 // since, on the clock of the Store
	wrote  int64 // the last write of this segment and of all before, on the clock of the Store
	size   int64
	disk   int64
	how    Compression
}

// endOfTime is later than every segment.
var endOfTime = entry{since: math.MaxInt64, order: math.MaxInt64, wrote: math.MaxInt64}

func (e entry) name() string { return segmentName(time.UnixMilli(e.start), e.seq, e.how) }

func (e entry) use() use { return use{bytes: e.disk, inodes: 1} }

func (e entry) info() Info {
	return Info{Stream: e.stream, Name: e.name(), Seq: e.seq, Size: e.size, Disk: e.disk}
}

// notAfter makes e as old as a later segment of its stream if that is older by
// its times: then the clock was ahead when e was written.
func (e *entry) notAfter(later entry) {
	e.since, e.order, e.wrote = min(e.since, later.since), min(e.order, later.order), min(e.wrote, later.wrote)
}

func compareEntry(a, b entry) int {
	return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.since, b.since),
		cmp.Compare(a.seq, b.seq), strings.Compare(a.stream, b.stream))
}

// clock places a moment on the clock of the Store, which counts milliseconds
// since Open and never steps. A moment in the future becomes now: the clock was
// ahead then. So a step of the clock changes neither order nor age of what is
// known already.
func (s *Store) clock(at, now time.Time) int64 {
	age := max(0, now.Sub(at))
	return (now.Sub(s.began) - age).Milliseconds()
}

func (s *Store) entryOf(info Info, now time.Time) entry {
	return entry{stream: info.Stream, seq: info.Seq, start: info.Start.UnixMilli(), since: info.Start.UnixMilli(),
		order: s.clock(info.Start, now), wrote: s.clock(info.ModTime, now), size: info.Size, disk: info.Disk, how: info.Compress}
}

// ledger is what retention knows without looking at the disk. The newest
// segments of streams that are placed are not in it: those streams know them.
type ledger struct {
	fresh  bool    // false: the disk must be scanned
	oldest []entry // what can be deleted, in order: all of it, or the beginning
	all    bool    // oldest is all of it
	count  int     // segments, those beyond the window included
	size   int64   // and their bytes
	disk   int64   // and what they take of the disk
	dirs   int64   // directories of streams, all of them
	rescan time.Time
}

// add takes note of a segment that was sealed and that no mark needs, behind
// which the stream goes on with later. The scan finds what does not go into an
// incomplete window.
func (l *ledger) add(e, later entry) {
	if !l.fresh {
		return
	}
	l.count++
	l.size += e.size
	l.disk += e.disk
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

// remove takes out a segment that is gone, or that its stream counts from now.
func (l *ledger) remove(info Info) {
	if !l.fresh {
		return
	}
	l.count--
	l.size -= info.Size
	l.disk -= info.Disk
	l.oldest = slices.DeleteFunc(l.oldest, func(e entry) bool { return e.seq == info.Seq && e.stream == info.Stream })
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

// scan builds the ledger from the disk. A directory that cannot be read keeps
// retention from no other one: its error is returned, and the ledger counts.
func (s *Store) scan(now time.Time) error {
	root, err := s.openDir(".")
	if err != nil {
		return fmt.Errorf("scan destination: %w", err)
	}
	defer root.Close()
	l := ledger{fresh: true, all: true}
	var first error
	err = eachStream(root, func(stream string) error {
		err := s.scanStream(&l, stream, now)
		if err != nil && first == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			first = fmt.Errorf("scan destination: %w", err)
		}
		return nil // deleted since, another user's, or broken
	})
	if err != nil {
		return fmt.Errorf("scan destination: %w", err)
	}
	slices.SortFunc(l.oldest, compareEntry)
	if !l.all {
		l.shorten() // older ones may have been trimmed away for those that came last
	}
	s.ledger = l
	return first
}

// scanStream enters the segments of one stream. Of those only the ones with the
// lowest numbers are held, and of the others the earliest times.
func (s *Store) scanStream(l *ledger, stream string, now time.Time) error {
	dir, err := s.openDir(stream)
	if err != nil {
		return err
	}
	defer dir.Close()
	found, later, any := []entry(nil), endOfTime, false
	bound := func(most int) {
		slices.SortFunc(found, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
		for i := len(found) - 1; i >= most; i-- {
			later.notAfter(found[i])
		}
		if len(found) > most {
			found, l.all = found[:most], false
		}
	}
	open := s.streams[stream]
	err = each(dir, func(info Info) error {
		any = true
		e := s.entryOf(info, now)
		e.stream = stream // one string for all segments of the stream
		if open != nil && open.counts(info) {
			later.notAfter(e)
			return nil
		}
		l.count++
		l.size += e.size
		l.disk += e.disk
		if found = append(found, e); len(found) >= 2*windowSegments {
			bound(windowSegments)
		}
		return nil
	})
	bound(windowSegments)
	for i := len(found) - 1; i >= 0; i-- {
		found[i].notAfter(later)
		later = found[i]
	}
	if any {
		l.dirs++
	}
	l.oldest = append(l.oldest, found...)
	l.trim()
	return err
}

// counts reports whether a segment on disk is one that the stream itself knows.
func (t *Stream) counts(info Info) bool {
	return t.placed && (info.Name == t.seg.Name || t.before != nil && info.Name == t.before.Name)
}
