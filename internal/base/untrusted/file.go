//go:build linux

package untrusted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

// ErrNotRegular is what [OpenFile] returns for a FIFO, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// OpenFile opens a regular file in an open directory where other processes may have put
// anything under the same name. It follows no link ([unix.ELOOP]), opens no directory
// ([unix.EISDIR]), and does not wait for the other end of a FIFO. If dir is nil, name is a
// path, in which links are followed except in the last element. mode is for a file that
// OpenFile creates.
func OpenFile(dir *os.File, name string, flags int, mode uint32) (*os.File, error) {
	at, path := unix.AT_FDCWD, name
	if dir != nil {
		at, path = int(dir.Fd()), filepath.Join(dir.Name(), name)
	}
	var fd int
	err := kernel.Retry(func() (err error) {
		fd, err = unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, mode)
		return err
	})
	if err == nil {
		if err = regular(fd); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func regular(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	}
	return ErrNotRegular
}

// OpenDir opens a directory. The last element of path must not be a link.
func OpenDir(path string) (*os.File, error) {
	return os.OpenFile(filepath.Clean(path), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// OpenIn opens a regular file for reading. Neither the file nor dir may be a link.
func OpenIn(dir, name string) (*os.File, error) {
	open, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	return OpenFile(open, name, unix.O_RDONLY, 0)
}
