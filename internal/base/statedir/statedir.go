// Package statedir opens the sidecar's own directory, SOURCE/.ullage, and the
// files in it. A lock there makes one sidecar the owner of a source: see [Claimant].
//
// The application can write there as it can to its logs, so nothing in the directory is
// trusted. The package follows no link and refuses every file that is not a regular file
// with exactly one name (hard link). The caller checks what it reads.
package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/untrusted"
)

// Name is the name of the directory in the source.
const Name = ".ullage"

// Open opens the directory in source and creates it if it is missing.
func Open(source *os.File) (*os.File, error) {
	path := filepath.Join(source.Name(), Name)
	at := int(source.Fd())
	if err := unix.Mkdirat(at, Name, 0o700); err != nil && err != unix.EEXIST {
		return nil, fmt.Errorf("create %s (the sidecar keeps its checkpoint and its spool there; run it as the JVM's user and group; it now runs as uid %d, gid %d): %w",
			path, os.Geteuid(), os.Getegid(), err)
	}
	fd, err := open(at)
	if err == unix.ENOTDIR || err == unix.ELOOP {
		// Something else has the directory's name: remove it.
		_ = unix.Unlinkat(at, Name, 0)
		if err = unix.Mkdirat(at, Name, 0o700); err == nil {
			fd, err = open(at)
		}
	}
	if err != nil {
		err = &fs.PathError{Op: "open state directory", Path: path, Err: err}
		var st unix.Stat_t
		if errors.Is(err, fs.ErrPermission) && unix.Fstatat(at, Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			err = fmt.Errorf("%w (%s; run the sidecar as that user; do not remove the directory: it may hold lines that exist nowhere else)", err, OwnerHint(st.Uid, st.Gid, st.Mode))
		}
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func open(source int) (int, error) {
	return unix.Openat(source, Name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// OwnerHint returns a hint that names the user that the sidecar would have to run as.
func OwnerHint(uid, gid, mode uint32) string {
	return fmt.Sprintf("it belongs to uid %d, gid %d, mode %04o; ullage runs as uid %d, gid %d",
		uid, gid, mode&0o7777, os.Geteuid(), os.Getegid())
}

// Dup returns a new descriptor for dir, which the caller closes. It returns nil if dir is nil
// or no descriptor is left.
func Dup(dir *os.File) *os.File {
	if dir == nil {
		return nil
	}
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), dir.Name())
}

// OpenFile opens one of the sidecar's files in dir, which is nil while the source is missing.
// The application can put anything there. So OpenFile follows no link and refuses every file
// that is not a regular file with one name. If the file is missing and flags lack unix.O_CREAT,
// the error is [fs.ErrNotExist].
func OpenFile(dir *os.File, name string, flags int) (*os.File, error) {
	if dir == nil {
		return nil, fmt.Errorf("open %s: the source is missing: %w", name, fs.ErrNotExist)
	}
	file, err := untrusted.OpenFile(dir, name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil || st.Nlink != 1 {
		file.Close()
		return nil, fmt.Errorf("open %s: it must have exactly one hard link", name)
	}
	return file, nil
}

// Transient reports whether opening a file failed because descriptors or memory
// ran out. Such an error reveals nothing about the file.
func Transient(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EINTR)
}

// Displace makes room in dir for a file of the sidecar. It removes anything that has
// the name, but moves a non-empty directory out of the way.
func Displace(dir *os.File, name string) {
	at := int(dir.Fd())
	if unix.Unlinkat(at, name, 0) != nil && unix.Unlinkat(at, name, unix.AT_REMOVEDIR) != nil {
		_ = unix.Renameat(at, name, at, fmt.Sprintf("displaced-%s-%d", name, time.Now().UnixNano()))
	}
}
