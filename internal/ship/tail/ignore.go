package tail

import "golang.org/x/sys/unix"

// Reasons why an entry of the source is not followed; label values of
// ullage_source_ignored_files.
const (
	ignoreName      = "name"
	ignoreSymlink   = "symlink"
	ignoreDirectory = "directory"
	ignoreSpecial   = "special"  // FIFO, socket, device
	ignoreLinks     = "hardlink" // more than one name

	IgnoredPermission = "permission"
	IgnoredTooMany    = "too_many" // too many files are held open; the entry waits
	IgnoredError      = "error"
)

var ignoreReasons = []string{ignoreName, ignoreSymlink, ignoreDirectory, ignoreSpecial, ignoreLinks, IgnoredPermission, IgnoredTooMany, IgnoredError}

// followedLater reports whether an entry that is ignored for the reason may be followed
// later.
func followedLater(reason string) bool {
	switch reason {
	case ignoreLinks, IgnoredPermission, IgnoredTooMany, IgnoredError:
		return true
	}
	return false
}

// typeReason returns why an inode is not followed, or "".
func typeReason(st *unix.Statx_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Nlink > 1 {
			return ignoreLinks
		}
		return ""
	case unix.S_IFLNK:
		return ignoreSymlink
	case unix.S_IFDIR:
		return ignoreDirectory
	}
	return ignoreSpecial
}

// ignoreUnless turns an error into a reason. It returns "" for the expected error: an entry
// that has just vanished need not be reported.
func ignoreUnless(err error, expected unix.Errno) string {
	switch err {
	case expected:
		return ""
	case unix.EACCES, unix.EPERM:
		return IgnoredPermission
	case unix.EMFILE, unix.ENFILE:
		return IgnoredTooMany
	}
	return IgnoredError
}
