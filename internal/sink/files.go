package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/untrusted"
)

// stateDir is the directory of the sinks' files in a destination. No stream has such a name.
const stateDir = ".ullage/sinks"

// files gives access to the files in the stateDir of a destination. Other pods may write to
// the volume of a destination. So every file is opened only by its name, in a directory that was
// opened in the same way: no link leads out of the destination, no FIFO blocks, and nothing is
// written to a file that has a second name.
type files struct{ dest string }

// path returns the path of a file, for error messages.
func (f files) path(name string) string { return filepath.Join(f.dest, stateDir, name) }

// dir opens the directory. If create is true, dir creates missing directories and replaces a
// link or a file that has the name of such a directory.
func (f files) dir(create bool) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open(f.dest, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.dest, Err: err}
	}
	for name := range strings.SplitSeq(stateDir, "/") {
		below, err := unix.Openat(at, name, flags, 0)
		if create && (err == unix.ENOENT || err == unix.ELOOP || err == unix.ENOTDIR) {
			_ = unix.Unlinkat(at, name, 0)
			if err = unix.Mkdirat(at, name, 0o750); err == nil || err == unix.EEXIST { // another sink may have been first
				below, err = unix.Openat(at, name, flags, 0)
			}
		}
		unix.Close(at)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: filepath.Join(f.dest, stateDir), Err: err}
		}
		at = below
	}
	return os.NewFile(uintptr(at), filepath.Join(f.dest, stateDir)), nil
}

// open opens a regular file. A file that is written to must have no other name.
func (f files) open(dir *os.File, name string, flags int) (*os.File, error) {
	file, err := untrusted.OpenFile(dir, name, flags, 0o640)
	if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
		return file, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(file.Fd()), &st); err == nil && st.Nlink != 1 {
		err = errors.New("the file has a second name (a hard link)")
	}
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: f.path(name), Err: err}
	}
	return file, nil
}

// read opens a file to read it. If the file or its directory does not exist, the error is
// [fs.ErrNotExist].
func (f files) read(name string) (*os.File, error) {
	dir, err := f.dir(false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return f.open(dir, name, unix.O_RDONLY)
}

// list opens a file to append to it.
func (f files) list(name string) (*os.File, error) {
	dir, err := f.dir(true)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return f.open(dir, name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT)
}

// write creates a new file with this text and makes the text durable. An old file of the same
// name is removed, not opened.
func (f files) write(dir *os.File, name string, text []byte) error {
	_ = unix.Unlinkat(int(dir.Fd()), name, 0) // if this fails, open fails too
	file, err := f.open(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// replace writes text to a new file, makes it durable, and renames it to name. After a crash,
// either the old or the new file exists.
func (f files) replace(name string, text []byte) error {
	dir, err := f.dir(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	next := name + ".next"
	if err := f.write(dir, next, text); err != nil {
		return err
	}
	if err := unix.Renameat(int(dir.Fd()), next, int(dir.Fd()), name); err != nil {
		return fmt.Errorf("rename %s: %w", f.path(next), err)
	}
	return nil
}
