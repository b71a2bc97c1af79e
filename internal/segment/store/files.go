package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/segment"
)

// ErrRefused says that the destination works but refuses this one stream: something else has
// the name of its directory, the directory belongs to another user, or the file system does not
// allow the name. Other streams are unaffected. The caller abandons the stream, and resumes or
// recovers it when the obstacle may be gone.
var ErrRefused = errors.New("the destination refuses this stream")

// nameErrnos are the errors that a single name can cause. The destination can cause each of
// them, too, so an error is attributed to the stream only if the destination itself works.
var nameErrnos = []error{
	unix.ENOTDIR, unix.EISDIR, unix.ELOOP, // something else has the name
	unix.EACCES, unix.EPERM, // ... or it belongs to another user
	unix.EINVAL, unix.EILSEQ, unix.ENAMETOOLONG, // the file system allows no such name
}

// judge examines an error of one stream. It notes a full volume for retention and wraps an
// error that concerns only this stream in ErrRefused.
func (d *destination) judge(err error) error {
	if noSpace(err) {
		d.full = true
	}
	own := func(errno error) bool { return errors.Is(err, errno) }
	if err == nil || errors.Is(err, ErrAway) || !slices.ContainsFunc(nameErrnos, own) {
		return err
	}
	if d.present() != nil || writable(d.root) != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// writable returns why nothing can be created in an open directory, or nil. It changes nothing
// there.
func writable(dir *os.File) error {
	err := kernel.Retry(func() error {
		return unix.Faccessat(int(dir.Fd()), ".", unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	})
	if err != nil {
		return &os.PathError{Op: "write to", Path: dir.Name(), Err: err}
	}
	return nil
}

// openDir opens the directory of a stream, which must not be a link, or "." for
// the destination itself.
func (d *destination) openDir(name string) (*os.File, error) {
	var fd int
	err := kernel.Retry(func() (err error) {
		fd, err = unix.Openat(int(d.root.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	path := filepath.Join(d.dir, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// syncDir makes the entries of a directory durable. The name is the same as for openDir.
func (d *destination) syncDir(name string) error {
	dir, err := d.openDir(name)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return syncAndClose(dir)
}

// makeDir creates the directory of a stream. made is false if it exists already.
func (d *destination) makeDir(name string) (made bool, err error) {
	switch err := kernel.Retry(func() error { return unix.Mkdirat(int(d.root.Fd()), name, dirMode) }); err {
	case nil:
		return true, nil
	case unix.EEXIST:
		return false, nil
	default:
		return false, &fs.PathError{Op: "mkdir", Path: filepath.Join(d.dir, name), Err: err}
	}
}

// removeDir removes the directory of a stream if it exists and is empty.
func (d *destination) removeDir(name string) (removed bool, err error) {
	err = kernel.Retry(func() error { return unix.Unlinkat(int(d.root.Fd()), name, unix.AT_REMOVEDIR) })
	switch err {
	case nil:
		return true, nil
	case unix.ENOTEMPTY, unix.EEXIST, unix.ENOENT:
		return false, nil
	}
	return false, &fs.PathError{Op: "rmdir", Path: filepath.Join(d.dir, name), Err: err}
}

// openSegment opens a regular file in the directory of a stream. Neither the file
// nor the directory may be a link.
func (d *destination) openSegment(seg segment.Info, flags int) (*os.File, error) {
	dir, err := d.openDir(seg.Stream)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return untrusted.OpenFile(dir, seg.Name, flags, fileMode)
}

// removeSegment unlinks a segment if it exists. It does not sync the directory.
func (d *destination) removeSegment(seg segment.Info) error {
	dir, err := d.openDir(seg.Stream)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete segment: %w", err)
	}
	defer dir.Close()
	err = kernel.Retry(func() error { return unix.Unlinkat(int(dir.Fd()), seg.Name, 0) })
	if err != nil && err != unix.ENOENT {
		return fmt.Errorf("delete segment %s: %w", seg.Path, err)
	}
	return nil
}

// cutSegment durably truncates a segment to size. A segment that already ends there keeps its
// time of modification.
func (d *destination) cutSegment(seg segment.Info, size int64) error {
	file, err := d.openSegment(seg, unix.O_WRONLY)
	if err != nil {
		return fmt.Errorf("cut segment: %w", err)
	}
	stat, err := file.Stat()
	if err == nil && stat.Size() != size {
		err = file.Truncate(size)
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cut segment: %w", err)
	}
	return nil
}

// wholePages estimates how much space a number of bytes takes in the file system.
func wholePages(size int64) int64 {
	return max(segment.PageBytes, (size+segment.PageBytes-1)&^(segment.PageBytes-1))
}

// space asks the file system for its size and its free space. A local file
// system answers from memory.
func (d *destination) space() (st unix.Statfs_t, err error) {
	if err = kernel.Retry(func() error { return unix.Fstatfs(int(d.root.Fd()), &st) }); err != nil {
		return st, fmt.Errorf("inspect the file system: %w", err)
	}
	return st, nil
}
