package tail

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
)

// maxPasses bounds how often one scan lists the directory. What is without a
// place then gets it in the next scan.
const maxPasses = 4

// compare orders the files of one stream from the oldest to the newest. No
// clock counts where something else gives the order:
//
//   - A file that an earlier scan found is older than one that came since.
//   - The file that has the name of the output is newer than its archives.
//   - On tmpfs inode numbers count up.
//
// Archive numbers do not tell an order, since HotSpot takes them in a cycle.
func (f *File) compare(g *File) int {
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

// place gives the files that a scan has found their places in their streams,
// and reports whether all of them have one now.
//
// A file is placed, and so read, only after a listing that began when it was
// held already. A JVM may rotate between the listing and the look at a name:
// the look then finds the new file, and the archive is not in the listing. The
// next listing has it, because a JVM renames an archive before it creates the
// file that follows, and never renames an archive again.
func (s *Source) place() (all bool) {
	all = true
	for _, st := range s.streams.byName {
		if len(st.found) == 0 {
			continue
		}
		slices.SortFunc(st.found, (*File).compare)
		n := len(st.found)
		for n > 0 && st.found[n-1].pass == s.listing.pass {
			n--
		}
		for _, f := range st.found[:n] {
			s.join(f)
		}
		st.found = slices.Delete(st.found, 0, n)
		all = all && len(st.found) == 0
	}
	return all
}

// join gives f its place among the files of its stream. Their order never
// changes, since reading relies on it. Files that come before f are read to
// their end once more: whoever wrote them has closed them by now.
func (s *Source) join(f *File) {
	st := f.stream
	at := len(st.files)
	for at > 0 && f.compare(st.files[at-1]) < 0 {
		at--
	}
	st.files = slices.Insert(st.files, at, f)
	for _, older := range st.files[:at+1] {
		s.touch(older)
	}
}

// StreamName returns the stream of a file name: the name without the number
// that HotSpot appends to an archive, a dot and one to three digits (its
// filecount is at most 1,000). An output that itself is named so cannot be
// distinguished from an archive.
func StreamName(name string) string {
	if _, ok := archiveNumber(name); ok {
		return name[:strings.LastIndexByte(name, '.')]
	}
	return name
}

// archiveNumber returns the number at the end of an archive's name.
func archiveNumber(name string) (number int, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	digits := name[dot+1:]
	if dot < 1 || len(digits) < 1 || len(digits) > 3 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil
}
