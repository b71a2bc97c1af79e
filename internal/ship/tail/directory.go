package tail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
)

// directory holds the source directory, the state directory in it, and a watcher of their
// events. All of these are open or closed together, except that the watcher may be missing.
type directory struct {
	path    string
	watched string   // another directory to watch; empty if there is none
	dir     *os.File // nil: closed
	state   *os.File
	watcher *fsnotify.Watcher // nil: only the poll sees changes

	suspended bool // the watcher does not watch the source for now

	claimant statedir.Claimant
	owner    *statedir.Owner // nil while dir is nil
	former   statedir.Former // how the previous owner ended
	reported bool            // former was passed to Outlets.Opened

	countsUp bool // inode numbers give the order of files
}

// ErrNoDirectory reports that the source's path, or a part of it, is not a directory.
var ErrNoDirectory = errors.New("the source is not a directory")

// open opens both directories and claims the source.
func (d *directory) open() error {
	fd, err := unix.Open(d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		err = &fs.PathError{Op: "open source directory", Path: d.path, Err: err}
		if errors.Is(err, unix.ENOTDIR) {
			err = fmt.Errorf("%w: %w", ErrNoDirectory, err)
		}
		return err
	}
	dir := os.NewFile(uintptr(fd), d.path)
	state, err := statedir.Open(dir)
	if err != nil {
		dir.Close()
		return err
	}
	owner, err := d.claimant.Claim(state)
	if err != nil {
		dir.Close()
		state.Close()
		return err
	}
	d.dir, d.state, d.owner = dir, state, owner
	if d.former == "" {
		d.former = owner.Former
	}
	return nil
}

// report calls opened the first time that it is called.
func (d *directory) report(opened func(statedir.Former)) {
	if opened != nil && !d.reported {
		opened(d.former)
	}
	d.reported = true
}

// watch starts watching the source directory.
func (d *directory) watch() error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := w.Add(d.path); err != nil {
		w.Close()
		return err
	}
	if d.watched != "" {
		_ = w.Add(d.watched) // an error is ignored: the receiver of these events polls as well
	}
	d.watcher = w
	return nil
}

// suspend ends the watch of the source, but not that of the other directory.
func (d *directory) suspend() {
	_ = d.watcher.Remove(d.path) // an error means that there is no such watch
	d.suspended = true
}

// resume watches the source again.
func (d *directory) resume() error {
	if err := d.watcher.Add(d.path); err != nil {
		return err
	}
	d.suspended = false
	return nil
}

func (d *directory) close() {
	if d.watcher != nil {
		d.watcher.Close()
		d.watcher, d.suspended = nil, false
	}
	if d.dir != nil {
		d.owner.Close()
		d.dir.Close()
		d.state.Close()
		d.dir, d.state, d.owner = nil, nil, nil
	}
}

func (d *directory) opened() bool { return d.dir != nil }

// fd returns the descriptor of the source directory, which must be open.
func (d *directory) fd() int { return int(d.dir.Fd()) }

// changed returns when an entry of the source directory was last created, removed or renamed.
// The directory must be open.
func (d *directory) changed() (time.Time, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd(), &st); err != nil {
		return time.Time{}, fmt.Errorf("stat source directory: %w", err)
	}
	return time.Unix(st.Mtim.Unix()), nil
}

// beat shows other sidecars that the owner of the source is alive.
func (d *directory) beat() {
	if d.owner != nil {
		d.owner.Beat()
	}
}

// replaced reports whether one of the open directories, or the file that the
// owner has locked, is no longer what its path names.
func (d *directory) replaced() bool {
	if d.dir == nil {
		return false
	}
	was, err1 := d.dir.Stat()
	is, err2 := os.Stat(d.path)
	if err1 != nil || err2 != nil || !os.SameFile(was, is) {
		return true
	}
	own, err1 := d.state.Stat()
	named, err2 := os.Lstat(filepath.Join(d.path, statedir.Name))
	return err1 != nil || err2 != nil || !os.SameFile(own, named) || !d.owner.Named()
}

// inodesCountUp reports whether a younger file has a larger inode number. On Linux 5.9 and
// later, a tmpfs numbers its inodes with one counter. (Before that, each processor had its
// own supply of numbers.)
func inodesCountUp(dir int) bool {
	var fs unix.Statfs_t
	var system unix.Utsname
	if unix.Fstatfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || unix.Uname(&system) != nil {
		return false
	}
	return releaseAtLeast(unix.ByteSliceToString(system.Release[:]), 5, 9)
}

// releaseAtLeast reports whether a kernel's release, such as "6.1.0-13-amd64", is at least
// the given version.
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

func statx(dirfd int, name string, flags int, st *unix.Statx_t) error {
	return unix.Statx(dirfd, name, flags|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_BASIC_STATS|unix.STATX_BTIME, st)
}
