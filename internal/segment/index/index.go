package index

import (
	"cmp"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/untrusted"
)

// Index is the file of sums of a stream as it was when it was read. A nil Index has no entries.
type Index struct {
	entries []Entry
	file    unix.Stat_t
}

// Read reads the file in the directory of a stream. A missing, damaged or unreadable file
// has no entries.
func Read(dir string) *Index {
	file, err := untrusted.OpenIn(dir, Name)
	if err != nil {
		return nil
	}
	defer file.Close()
	var x Index
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes))
	if err != nil || unix.Fstat(int(file.Fd()), &x.file) != nil {
		return nil
	}
	x.entries = Parse(data)
	return &x
}

// Of returns the sum of a segment, which is valid if the segment's bytes have the size and the
// CRC-32C in it. start is the segment's creation time: a stream that was deleted and begun again
// has segments with the same numbers. file is the open segment: Of returns a sum only if each
// user who may write the file of sums may also write the segment. So a forged entry achieves no
// more than a forged segment would.
func (x *Index) Of(seq uint64, start time.Time, file *os.File) (Segment, bool) {
	if x == nil {
		return Segment{}, false
	}
	i, found := slices.BinarySearchFunc(x.entries, seq, func(e Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !found || x.entries[i].Start != start.UnixMilli() {
		return Segment{}, false
	}
	var seg unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &seg); err != nil || !covers(&seg, &x.file) {
		return Segment{}, false
	}
	return x.entries[i].Segment, true
}

// covers reports whether each user who may write file b may also write file a.
func covers(a, b *unix.Stat_t) bool {
	const group, other = unix.S_IWGRP, unix.S_IWOTH
	if a.Mode&other != 0 {
		return true
	}
	return a.Uid == b.Uid && (b.Mode&^a.Mode)&(group|other) == 0 && (a.Gid == b.Gid || b.Mode&group == 0)
}

// Thin returns the newest entries of existing segments, up to two thirds of the bound. exist
// has the numbers of these segments in ascending order.
func Thin(entries []Entry, exist []uint64) []Entry {
	kept := slices.DeleteFunc(entries, func(e Entry) bool {
		_, found := slices.BinarySearch(exist, e.Seq)
		return !found
	})
	const most = MaxBytes / EntryBytes * 2 / 3
	return kept[max(0, len(kept)-most):]
}
