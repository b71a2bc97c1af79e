package source

import (
	"cmp"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
)

// compareAge orders the files of one stream from the oldest to the newest. Clocks are used only
// if nothing else determines the order:
//
//   - A file that an earlier scan found is older than a file that a later scan found.
//   - The file that has the name of the output is newer than its archives.
//   - On a tmpfs, inode numbers increase.
//
// Archive numbers say nothing about age, because HotSpot uses them in a cycle.
func compareAge(f, g *File) int {
	live := 0
	if f.live() != g.live() {
		live = -1
		if f.live() {
			live = 1
		}
	}
	return cmp.Or(cmp.Compare(f.Rank.Round, g.Rank.Round), live, cmp.Compare(f.Rank.Age, g.Rank.Age), cmp.Compare(f.Of.Ino, g.Of.Ino), cmp.Compare(f.Of.Epoch, g.Of.Epoch))
}

// live reports whether f has the name of the output itself.
func (f *File) live() bool { return f.Entry.Name == f.Stream.Name }

// Age returns a number that orders the files found by one scan: it is larger for a younger
// file.
func Age(st *unix.Statx_t, countsUp bool) int64 {
	switch id := position.Identify(st); {
	case countsUp:
		return int64(id.Ino)
	case id.Born != 0:
		return id.Born
	}
	return st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec)
}
