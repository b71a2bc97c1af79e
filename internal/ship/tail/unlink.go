package tail

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// takenPrefix precedes the name of a file that is in the state directory because it is
// about to be unlinked.
const takenPrefix = "finished-"

// An unlinker removes the names of finished files. If it has taken the name of a different
// file, it returns the name to that file.
type unlinker struct {
	*env
	dir     *directory
	table   *source.Table
	listing *listing
}

// unlink removes the name of f, which has no writer and is fully committed.
//
// The kernel removes names, not inodes: between a check of the name and its removal, a JVM
// may give the name to another file, or open f for writing. So unlink first moves the file
// with that name into the state directory, where no JVM opens it, and then checks the file.
// If it is another file, or if f is being written after all, the file gets its name back.
// No move replaces a file.
//
// A kill after the first move leaves the file in the state directory under takenPrefix and its
// name. A JVM that has the file open continues to write to it. The next Open restores the name
// (see [unlinker.putBackTaken]), and the scan finds the file. If the file is f, its position is
// in the checkpoint; any other file is new.
func (u *unlinker) unlink(f *source.File) {
	if is(u.dir.fd(), f.Entry.Name, f.Of.Identity) != nil {
		u.listing.expire()
		return
	}
	u.remove(f)
}

// remove does the work of unlink for whichever file has the name of f by now.
func (u *unlinker) remove(f *source.File) {
	dir, state := u.dir.fd(), int(u.dir.state.Fd())
	taken := takenPrefix + f.Entry.Name
	if err := unix.Renameat2(dir, f.Entry.Name, state, taken, unix.RENAME_NOREPLACE); err != nil {
		u.refused(f, err)
		return
	}
	u.listing.expire()
	if is(state, taken, f.Of.Identity) != nil || f.Inode.Written() || f.Changed() {
		u.putBack(f.Entry.Name)
		return
	}
	if err := unix.Unlinkat(state, taken, 0); err != nil {
		u.putBack(f.Entry.Name)
		u.refused(f, err)
		return
	}
	if left := f.Growth.Size - f.Inode.Reclaimed; left > 0 {
		u.metrics.reclaimed.WithLabelValues(string(ReclaimUnlink)).Add(float64(left))
	}
	delete(u.table.Names.Now, f.Entry.Name)
	f.Entry.Name = ""
	u.table.Touch(f)
}

// is returns nil if the named file has the given identity.
func is(dir int, name string, id position.Identity) error {
	var st unix.Statx_t
	if err := statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, &st); err != nil {
		return err
	}
	if position.Identify(&st) != id {
		return unix.ESTALE
	}
	return nil
}

// refused records that f keeps its name. If f has just lost its name, nothing was refused.
func (u *unlinker) refused(f *source.File, err error) {
	if err == unix.ENOENT {
		u.listing.expire()
		return
	}
	f.Entry.KeepName = true
	u.metrics.reclaimErrs.Inc()
	var st unix.Statx_t
	_ = statx(f.Inode.FD, "", unix.AT_EMPTY_PATH, &st)
	// messages.md#the-source: The memory of the file stays in use. `owner` names the user that may
	// unlink it.
	u.log.once("unlink", "unlinking a finished source file failed", "file", f.Entry.Name, "error", err, "owner", statedir.OwnerHint(st.Uid, st.Gid, uint32(st.Mode)),
		"hint", "its memory stays in use")
}

// putBack gives a file in the state directory its name in the source again. If a JVM did not
// find its log in the meantime and created a new file with that name, the file in the state
// directory is the older one and becomes an archive.
func (u *unlinker) putBack(name string) {
	dir, state := u.dir.fd(), int(u.dir.state.Fd())
	err := unix.Renameat2(state, takenPrefix+name, dir, name, unix.RENAME_NOREPLACE)
	for n := 0; err == unix.EEXIST && n <= maxArchive; n++ {
		archive := fmt.Sprintf("%s.%d", naming.StreamOf(name), n)
		err = unix.Renameat2(state, takenPrefix+name, dir, archive, unix.RENAME_NOREPLACE)
	}
	if err != nil && err != unix.ENOENT {
		u.metrics.reclaimErrs.Inc()
		// messages.md#the-source: The file is in `SOURCE/.ullage` as `finished-NAME`. Move it back
		// into the source: until then its lines are not shipped.
		u.log.Error("returning a source file to the source failed", "file", statedir.Name+"/"+takenPrefix+name, "name", name, "error", err,
			"hint", "the file is no longer followed; move it back by hand")
	}
	u.listing.expire()
}

// maxArchive is the largest number that HotSpot gives an archive.
const maxArchive = 999

// maxTaken bounds how many entries of the state directory are examined: the application can
// create any number of them.
const maxTaken = 4096

// putBackTaken gives the files that a killed process has left in the state directory their
// names again; see [unlinker.unlink].
func (u *unlinker) putBackTaken() {
	if _, err := u.dir.state.Seek(0, io.SeekStart); err != nil {
		return
	}
	names, _ := u.dir.state.Readdirnames(maxTaken)
	for _, taken := range names {
		name, ok := strings.CutPrefix(taken, takenPrefix)
		if ok && u.cfg.follows(name) && naming.Valid(name) {
			// messages.md#the-source: A sidecar was killed while it unlinked this finished file.
			u.log.Info("returning a source file to the source", "file", name, "hint", "a sidecar was killed before it could unlink the file")
			u.putBack(name)
		}
	}
}
