package tail

import (
	"cmp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
)

// compareAge orders the files of one stream from the oldest to the newest. No
// clock counts where something else gives the order:
//
//   - A file that an earlier scan found is older than one that came since.
//   - The file that has the name of the output is newer than its archives.
//   - On tmpfs inode numbers count up.
//
// Archive numbers give no order, since HotSpot takes them in a cycle.
func compareAge(f, g *File) int {
	live := 0
	if f.live() != g.live() {
		live = -1
		if f.live() {
			live = 1
		}
	}
	return cmp.Or(cmp.Compare(f.round, g.round), live, cmp.Compare(f.age, g.age), cmp.Compare(f.of.Ino, g.of.Ino), cmp.Compare(f.of.Epoch, g.of.Epoch))
}

// live reports whether f has the name of the output itself.
func (f *File) live() bool { return f.name == f.stream.name }

// age returns what orders the files that one scan finds: a number that is
// larger for a younger file.
func age(st *unix.Statx_t, countsUp bool) int64 {
	switch id := position.Identify(st); {
	case countsUp:
		return int64(id.Ino)
	case id.Born != 0:
		return id.Born
	}
	return st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec)
}

// inodesCountUp reports whether a younger file has the larger inode number: a
// tmpfs of Linux 5.9 and later has one counter of them. (Before that, each
// processor had numbers of its own in stock.)
func inodesCountUp(dir int) bool {
	var fs unix.Statfs_t
	var system unix.Utsname
	if unix.Fstatfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || unix.Uname(&system) != nil {
		return false
	}
	return releaseAtLeast(unix.ByteSliceToString(system.Release[:]), 5, 9)
}

// releaseAtLeast reports whether a kernel's release, "6.1.0-13-amd64", is that
// version or a later one.
func releaseAtLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rest)
	}
	x, err1 := strconv.Atoi(first)
	y, err2 := strconv.Atoi(rest[:digits])
	return err1 == nil && err2 == nil && (x > major || x == major && y >= minor)
}
