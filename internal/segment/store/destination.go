package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
)

const (
	dirMode  = 0o750
	fileMode = 0o640
)

// ErrAway says that the path of the destination names nothing, or not the
// directory that was opened: somebody moved the directory away, unmounted its
// volume, or mounted another volume over it. Nothing was changed. The caller waits
// and calls [Store.Reopen].
var ErrAway = errors.New("destination is away")

// destination is the directory of the durable copy, held open, with its lock and
// its key. Everything below the directory is reached through root, so nothing is
// ever created or deleted in another directory that takes its path. It knows
// directories and files by name, and nothing of what the segments hold.
//
//	openDestination → acquire → openDir, openSegment, … → again → adopt → close
type destination struct {
	dir  string
	root *os.File // dir, open
	lock *os.File // DEST/.ullage/lock, open; nil: closed
	key  []byte
	log  *slog.Logger

	number number // of the newest checkpoint
	full   bool   // a call found no space; retention resets it
}

// openDestination creates what is missing of the directory, and opens it.
func openDestination(dir string, log *slog.Logger) (*destination, error) {
	d := &destination{dir: dir, log: log}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// prepare creates the directories, opens the root and the lock, and loads the key.
func (d *destination) prepare() error {
	own := filepath.Join(d.dir, segment.OwnDir)
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(own, dirMode); err != nil {
			return d.explain("create", err)
		}
		if err := syncDir(d.dir); err != nil {
			return d.explain("sync", err)
		}
		// The parent may be one that we may only pass through.
		if err := syncDir(filepath.Dir(d.dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return d.explain("sync", err)
		}
	}
	if err := d.openRoot(); err != nil {
		return err
	}
	if err := d.openLock(own); err != nil {
		return err
	}
	var err error
	if d.key, err = d.loadKey(own); err != nil {
		return d.explain("keep a key in", err)
	}
	if err := d.readNumber(own); err != nil {
		return d.explain("read the number of the checkpoint in", err)
	}
	return nil
}

// openRoot opens the directory that the path names now. The former root stays open
// if that fails.
func (d *destination) openRoot() error {
	root, err := os.OpenFile(d.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return d.explain("open", err)
	}
	d.closeRoot()
	d.root = root
	return nil
}

func (d *destination) closeRoot() {
	if d.root != nil {
		_ = d.root.Close()
		d.root = nil
	}
}

// close closes the directory and releases the lock.
func (d *destination) close() error {
	d.closeRoot()
	d.number.close()
	return d.unlock()
}

// present fails with ErrAway unless the path names the directory that is open.
func (d *destination) present() error {
	is, err := os.Stat(d.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	if err != nil {
		return fmt.Errorf("inspect destination: %w", err)
	}
	was, err := d.root.Stat()
	if err != nil {
		return fmt.Errorf("inspect destination: %w", err)
	}
	if !os.SameFile(was, is) {
		return fmt.Errorf("%w: %s is not the directory that was opened", ErrAway, d.dir)
	}
	return nil
}

// again reports whether the path still names the open directory, and opens the path
// again: the same directory may now be reached through another mount. If same is
// false and err is nil, the directory that the path names may be adopted.
func (d *destination) again() (same bool, err error) {
	err = d.present()
	switch {
	case err == nil && d.lock != nil && links(d.lock) > 0:
		return true, d.openRoot()
	case err == nil:
		return false, nil
	case !errors.Is(err, ErrAway):
		return false, err
	}
	if why := d.foreign(); why != nil {
		return false, fmt.Errorf("%w: %w", err, why)
	}
	return false, nil
}

// foreign says why the directory at the path cannot stand for the open one. nil:
// it can.
func (d *destination) foreign() error {
	is, err := os.Stat(d.dir)
	if err != nil {
		return err
	}
	if !is.IsDir() {
		return syscall.ENOTDIR
	}
	key, err := readKey(filepath.Join(d.dir, segment.OwnDir))
	switch {
	case err == nil && string(key) == string(d.key):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	deleted := links(d.root) == 0
	if here, there := mountOf(unix.AT_FDCWD, d.dir), mountOf(int(d.root.Fd()), ""); !deleted && here != there {
		return errors.New("another file system is mounted there, or the volume is no longer mounted: mount the volume again, or restart ullage to continue there")
	}
	if len(key) == keyBytes {
		return nil
	}
	dir, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(2)
	if names = slices.DeleteFunc(names, func(name string) bool { return name == segment.LostFound }); len(names) > 0 {
		return errors.New("it contains other files: empty it, or restart ullage to continue there")
	}
	return nil
}

// adopt makes the directory at the path the destination. The directory keeps its
// key if it has one, and else gets the key of the former directory.
func (d *destination) adopt(ctx context.Context) error {
	if err := d.unlock(); err != nil {
		d.log.Debug("unlocking the old destination failed", "error", err)
	}
	d.full = false
	err := d.prepare()
	if err == nil {
		err = d.acquire(ctx)
	}
	if err != nil {
		// Another process may hold the lock of the new directory. Without the lock,
		// again does not take the directory for ours, and the next Reopen adopts it.
		return errors.Join(err, d.unlock())
	}
	return nil
}

// links returns how many names an open file has: none once it was deleted.
func links(f *os.File) uint64 {
	var st unix.Stat_t
	if err := kernel.Retry(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return 1 // unknown: do not call it deleted
	}
	return uint64(st.Nlink)
}

// mount identifies the mount that a directory is on: by its number, which is zero
// on kernels before 5.8, and by its device.
type mount struct {
	id           uint64
	major, minor uint32
}

// mountOf returns the mount of a path, or of an open directory for an empty path.
func mountOf(dir int, path string) mount {
	var st unix.Statx_t
	if err := unix.Statx(dir, path, unix.AT_EMPTY_PATH|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_MNT_ID, &st); err != nil {
		return mount{}
	}
	m := mount{major: st.Dev_major, minor: st.Dev_minor}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		m.id = st.Mnt_id
	}
	return m
}
